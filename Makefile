# pg_waitscope/Makefile

EXTENSION = pg_waitscope
MODULE_big = pg_waitscope
OBJS = $(patsubst $(srcdir)/%.c,%.o,$(sort $(wildcard $(srcdir)/src/*.c $(srcdir)/src/*/*.c)))
DATA = $(wildcard $(srcdir)/sql/$(EXTENSION)--*.sql)
PGFILEDESC = "pg_waitscope - wait event sampling and lock contention analysis"

PG_CPPFLAGS = -I$(srcdir)/src
PG_CFLAGS = -fvisibility=hidden

srcdir ?= .
PG_CONFIG ?= pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)

# LLVM bitcode would need clang wherever the server was built with it.
override with_llvm = no

# Objects depend on every header: the tree is small, a stale object is not.
$(OBJS): $(wildcard $(srcdir)/src/*.h $(srcdir)/src/*/*.h $(srcdir)/src/*/*/*.h)
