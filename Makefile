# pg_waitscope/Makefile
#
#   make && make install          with PG_CONFIG=... where it is not in PATH
#   make installcheck             boots its own servers; not as root
#   make installcheck USE_RUNNING=1   the server of PGHOST and PGPORT
#   make install-test-drivers     what some of t/*.pl need, from test/*/
#   make lint | indent | headerscheck

srcdir ?= .
PG_CONFIG ?= pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs)

EXTENSION = pg_waitscope
MODULE_big = pg_waitscope
OBJS = $(patsubst $(srcdir)/%.c,%.o,$(sort $(wildcard $(srcdir)/src/*.c $(srcdir)/src/*/*.c)))
DATA = $(wildcard $(srcdir)/sql/$(EXTENSION)--*.sql)
HEADERS_pg_waitscope = src/extension/pg_waitscope/pg_waitscope_lock.h
PGFILEDESC = "pg_waitscope - wait event sampling and lock contention analysis"

# The version stands in the control file only.
EXTVERSION = $(shell sed -n "s/^default_version = '\(.*\)'/\1/p" $(srcdir)/$(EXTENSION).control)

PG_CPPFLAGS = -I$(srcdir)/src -DWSC_VERSION='"$(EXTVERSION)"'
PG_CFLAGS = -fvisibility=hidden

# sql/ holds what is installed (a name with "--") and regression inputs.
names = $(sort $(basename $(notdir $(wildcard $(1)))))
REGRESS := $(foreach t,$(call names,$(srcdir)/sql/*.sql),$(if $(findstring --,$(t)),,$(t)))

# Debian's 13 has no isolationtester.
ifneq ($(wildcard $(dir $(PGXS))../test/isolation/isolationtester),)
ISOLATION := $(call names,$(srcdir)/specs/*.spec)
endif

ifneq ($(wildcard $(srcdir)/t/*.pl),)
TAP_TESTS = 1
endif

# An own server per suite, with the library preloaded; prove boots its own.
ifdef USE_RUNNING
REGRESS_PREP = check-preload
else
own_server = --temp-instance=tmp_$(1) --temp-config=$(srcdir)/sql/test.conf
REGRESS_OPTS = $(call own_server,regress)
ISOLATION_OPTS = $(call own_server,isolation)
endif
EXTRA_CLEAN = tmp_regress tmp_isolation tmp_check output_iso results log

# LLVM bitcode would need clang wherever the server was built with it.
override with_llvm = no

include $(PGXS)

# Objects depend on every header: the tree is small, a stale object is not.
$(OBJS): $(wildcard $(srcdir)/src/*.h $(srcdir)/src/*/*.h $(srcdir)/src/*/*/*.h)

.PHONY: check-preload check-drivers install-test-drivers lint indent headerscheck

# t, f, or nothing when psql has said why it could not connect
preloaded = $(shell PGHOST='$(PGHOST)' PGPORT='$(PGPORT)' PGUSER='$(PGUSER)' \
	'$(bindir)/psql' -XAtq -d postgres -c \
	"SELECT current_setting('shared_preload_libraries') ~ '\ypg_waitscope\y'")
refuse_f = $(error pg_waitscope is not in shared_preload_libraries of the \
	running server: add it there and restart the server)
refuse_ = $(error no server to check)
check-preload:
	@:$(refuse_$(preloaded))

# A TAP test that names an extension of test/*/, or that folder, is run if
# the extension is installed.
driver_words = $(basename $(notdir $(1))) $(patsubst $(srcdir)/%/,%,$(dir $(1)))
absent = $(foreach c,$(wildcard $(srcdir)/test/*/*.control),\
	$(if $(wildcard $(datadir)/extension/$(notdir $(c))),,$(call driver_words,$(c))))
unready = $(if $(absent),$(shell cd $(srcdir) && grep -lw $(addprefix -e ,$(absent)) t/*.pl))
PROVE_TESTS = $(filter-out $(unready),$(patsubst $(srcdir)/%,%,$(wildcard $(srcdir)/t/*.pl)))

installcheck: check-drivers
check-drivers:
	@$(if $(unready),echo "Not run without make install-test-drivers: $(unready)",:)

# After install: one of them is built against the header that it installs.
install-test-drivers: install
	set -e; for m in $(wildcard $(srcdir)/test/*/Makefile); do \
		$(MAKE) -C $$(dirname $$m) install; \
	done

lint indent:
	PG_CONFIG='$(PG_CONFIG)' $(srcdir)/tools/$@

headerscheck:
	PG_CONFIG='$(PG_CONFIG)' $(srcdir)/tools/lint headers
