import { MemoryStore } from '../../src/index.js';
import { SqliteStore } from '../../src/sqlite.js';
import { temporaryFolder } from '../stores/temporary-folder.js';
import { IS_GRAPHQL_16, IS_WHOLE } from '../support/chance.js';
import { sparingStore } from '../support/sparing-store.js';
import { corpusSuite } from './corpus-suite.js';

const fileNamed = temporaryFolder();

// One store is enough to see the changes of graphql 16.
if (IS_WHOLE || IS_GRAPHQL_16) corpusSuite('MemoryStore', () => sparingStore(new MemoryStore()));
if (!IS_GRAPHQL_16) {
  corpusSuite('SqliteStore', () => new SqliteStore(fileNamed('corpus.db'), { synchronous: 'off' }));
}
