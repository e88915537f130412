# %% [markdown]
# # A cell of the paper, and the report
#
# The paper's tables are grids: dataset × scenario × method × algorithm, over seeds. One combination
# is a *cell*, a cell with a seed is a *run*. `sffa reproduce` runs what is missing of a grid and
# keeps it in one file. Here it is the paper's continual protocol on digits, which need no download
# and take seconds; they are few, so `--set` asks for a smaller network, smaller batches, more passes
# and a larger step.
#
# ## How much is it?

# %% language="bash"
# sffa reproduce rq2 --datasets split-digits --scenarios class --methods naive,replay \
#   --algorithms sffa,bp --seeds 0-1 \
#   --set hidden=[200,200] --set batch_size=32 --set epochs=5 --set lr=3e-3 --dry-run

# %% [markdown]
# ## Run it
#
# Stop it whenever you like: the same command goes on where it was.

# %% language="bash"
# sffa reproduce rq2 --datasets split-digits --scenarios class --methods naive,replay \
#   --algorithms sffa,bp --seeds 0-1 \
#   --set hidden=[200,200] --set batch_size=32 --set epochs=5 --set lr=3e-3 --executor serial

# %% language="bash"
# sffa study show runs/rq2.sqlite

# %% [markdown]
# Mean ± standard error over seeds. Every record knows its whole configuration, the versions of the
# libraries, the commit and the machine:

# %%
from sffa.study import read_records

record = read_records("runs/rq2.sqlite")[0]
print(record.method, record.algorithm, record.seed, f"{record.metrics['acc']:.2f} %")
print({name: record.config[name] for name in ("epochs", "lr", "batch_size", "hidden", "network")})

# %% [markdown]
# ## Read the report
#
# One page, which opens in any browser without a network: tables, curves along the stream, what was
# forgotten.

# %% language="bash"
# sffa report runs --out report.html

# %% [markdown]
# [The page that this made](reproduce/report.html). The curves in it show accuracy over the digits
# learned so far: how fast `naive` falls, and how much `replay` keeps.
#
# ## The paper's own cells
#
# With MNIST at hand (it is fetched and verified by name), one seed of one cell takes about a minute
# on one core:
#
# ```sh
# sffa reproduce rq2 --datasets split-mnist --scenarios class --methods replay --algorithms sffa --seeds 0
# sffa reproduce rq2 --compare                # ours beside the paper's
# ```
#
# All cells, and what we make of them: [Results](../results/index.md).
#
# Next: [deploy](deploy.md).
