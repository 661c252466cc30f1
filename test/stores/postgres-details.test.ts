// What `npm test` leaves to `npm run test:all`. One file runs them all: each would start a PostgreSQL of its own.
import './postgres/copy.js';
import './postgres/decimals.js';
import './postgres/maintenance.js';
import './postgres/own-parameters.js';
import './postgres/partitions.js';
import './postgres/reindex.js';
import './postgres/statistics.js';
