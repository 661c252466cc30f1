// What `npm test` leaves to `npm run test:all`. One file runs them all: each would start a PostgreSQL of its own.
import './copy.js';
import './decimals.js';
import './maintenance.js';
import './own-parameters.js';
import './partitions.js';
import './reindex.js';
import './statistics.js';
