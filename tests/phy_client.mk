# SPDX-License-Identifier: Apache-2.0
# The PHY of tests/phy.h as a program, for tests/cli/srsran.sh.
TEST_BIN += $(B)/tests/phy_client
$(B)/tests/phy_client: TEST_LDFLAGS :=
