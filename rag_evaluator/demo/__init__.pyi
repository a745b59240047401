from .folders import DEMO_JUDGE as DEMO_JUDGE
from .folders import INSTALL as INSTALL
from .folders import demo_embeddings as demo_embeddings
