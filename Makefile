# pg_waitscope/Makefile

EXTENSION = pg_waitscope
MODULE_big = pg_waitscope
OBJS = $(patsubst $(srcdir)/%.c,%.o,$(sort $(wildcard $(srcdir)/src/*.c $(srcdir)/src/*/*.c)))
DATA = $(wildcard $(srcdir)/sql/$(EXTENSION)--*.sql)
PGFILEDESC = "pg_waitscope - wait event sampling and lock contention analysis"

# The version stands in the control file only.
EXTVERSION = $(shell sed -n "s/^default_version = '\(.*\)'/\1/p" $(srcdir)/$(EXTENSION).control)

PG_CPPFLAGS = -I$(srcdir)/src -DWSC_VERSION='"$(EXTVERSION)"'
PG_CFLAGS = -fvisibility=hidden

# LLVM bitcode would need clang wherever the server was built with it.
override with_llvm = no

srcdir ?= .
PG_CONFIG ?= pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)

# Objects depend on every header: the tree is small, a stale object is not.
$(OBJS): $(wildcard $(srcdir)/src/*.h $(srcdir)/src/*/*.h $(srcdir)/src/*/*/*.h)
