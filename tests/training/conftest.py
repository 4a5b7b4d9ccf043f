"""`training` lies at the repository's root, which is not on the path of an installed package."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
