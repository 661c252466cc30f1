// Compiled by `npm run typecheck`, never run: the wrong lines must not compile.

import { executeFhirGraphql, type FhirGraphqlContext, type FhirGraphqlResult, type TypedDocument } from 'fhirgraph';
import type { DocumentNode } from 'graphql';

interface PatientQuery {
  readonly Patient: { readonly id: string; readonly name: readonly { readonly family: string | null }[] | null } | null;
}

declare const context: FhirGraphqlContext;
declare const typed: TypedDocument<PatientQuery, { readonly id: string }>;
declare const plain: DocumentNode;

/** As code generators write it: `TypedDocumentNode` of `@graphql-typed-document-node/core`. */
interface GeneratedDocument<Result, Variables> extends DocumentNode {
  __apiType?: (variables: Variables) => Result;
}
declare const generated: GeneratedDocument<PatientQuery, { id: string }>;

export async function aTypedDocumentGivesATypedResult(): Promise<readonly (string | null)[]> {
  const result = await executeFhirGraphql(typed, context);
  // @ts-expect-error the query selects no such field
  void result.data?.Patient?.gender;
  // @ts-expect-error a patient that cannot be read is null
  void result.data?.Patient.id;
  return result.data?.Patient?.name?.map(({ family }) => family) ?? [];
}

export async function soDoesAGeneratedOne(): Promise<string | undefined> {
  const { data } = await executeFhirGraphql(generated, context);
  return data?.Patient?.id;
}

export async function textAndPlainDocumentsGiveValuesToLookInto(): Promise<unknown> {
  const fromText = await executeFhirGraphql('{ PatientList { id } }', context);
  const fromDocument = await executeFhirGraphql(plain, context);
  // @ts-expect-error what stands there is not known
  const id: string | undefined = fromText.data?.['Patient'];
  return [id, fromDocument.data?.['Patient']];
}

export async function aResultTypeCanBeGivenForText(): Promise<string | undefined> {
  const result: FhirGraphqlResult<PatientQuery> = await executeFhirGraphql<PatientQuery>(
    '{ Patient(id: 1) { id } }',
    context,
  );
  return result.data?.Patient?.id;
}

export async function errorsSayTheirCode(): Promise<boolean | undefined> {
  const { errors } = await executeFhirGraphql(typed, context);
  // @ts-expect-error not one of the closed list of codes
  void (errors?.[0]?.extensions.code === 'missing');
  return errors?.some(({ extensions }) => extensions.code === 'not-found');
}

export async function theContextNeedsAStoreAndACaller(): Promise<void> {
  // @ts-expect-error there is no caller
  await executeFhirGraphql(typed, { store: context.store });
  // @ts-expect-error there is no store
  await executeFhirGraphql(typed, { caller: context.caller });
  // @ts-expect-error a caller is made by signIn or systemCaller
  await executeFhirGraphql(typed, { store: context.store, caller: 'clinic' });
  // @ts-expect-error no such limit
  await executeFhirGraphql(typed, { ...context, limits: { depht: 3 } });
  // @ts-expect-error no such dialect
  await executeFhirGraphql(typed, { ...context, dialect: 'hl8' });
}
