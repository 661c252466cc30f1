import { PostgresStore } from 'fhirgraph/postgres';
import { describe } from 'vitest';
import { legitimateSuite } from '../legitimate/legitimate-suite.js';
import { postgresPool } from '../stores/postgres/pool.js';

describe('legitimate work on PostgreSQL', () => legitimateSuite(async () => new PostgresStore(await postgresPool())));
