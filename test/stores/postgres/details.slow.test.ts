// Tests that only `npm run test:all` runs. One file runs them all, because each would start a PostgreSQL of its own.
import './concepts.js';
import './copy.js';
import './decimals.js';
import './maintenance.js';
import './opening.js';
import './own-parameters.js';
import './partitions.js';
import './reindex.js';
import './statistics.js';
