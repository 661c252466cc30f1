// The floor of start.ts: the smallest program that answers GraphQL over SQLite, graphql-js with better-sqlite3 and one field.
// The arguments are the SQLite file, the project and the id of a Patient.
import Database from 'better-sqlite3';
import { graphql, GraphQLID, GraphQLNonNull, GraphQLObjectType, GraphQLSchema } from 'graphql';

const [file, project, id] = process.argv.slice(2);
const database = new Database(file, { readonly: true });
const text = database
  .prepare(
    `SELECT text FROM version WHERE key = (SELECT content FROM resource WHERE id = ? AND
      collection = (SELECT key FROM collection WHERE project = ? AND type = 'Patient'))`,
  )
  .pluck();
const patient = new GraphQLObjectType({ name: 'Patient', fields: { id: { type: GraphQLID } } });
const query = new GraphQLObjectType({
  name: 'Query',
  fields: {
    Patient: {
      type: patient,
      args: { id: { type: new GraphQLNonNull(GraphQLID) } },
      resolve: (_, args) => JSON.parse(text.get(args.id, project)),
    },
  },
});
const result = await graphql({
  schema: new GraphQLSchema({ query }),
  source: 'query ($id: ID!) { Patient(id: $id) { id } }',
  variableValues: { id },
});
if (result.errors !== undefined) throw new AggregateError(result.errors, 'The query failed');
JSON.stringify(result);
process.stdout.write('0');
