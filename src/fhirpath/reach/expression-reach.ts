import type { FhirModel } from '../../fhir/model/fhir-model.js';
import { parametersOf, parseFhirPath, unquote, unwrap, type SyntaxNode } from '../syntax-tree.js';
import { BELOW, ofType, type Place, placesNamed, type Reach, rootPlace } from './places.js';

/** Where the items of a result come from. */
interface Found {
  readonly places: readonly Place[];
  /** Some items are not elements of the resource, such as literals. */
  readonly made: boolean;
}

const MADE: Found = { places: [], made: true };

/**
 * Notes every element on which the value of an expression depends. What cannot be proven not to be read is noted as
 * read: everything inside the input of a function that is not known here, for example.
 *
 * @param from where the expression starts, which is also `%context`; `%resource` is the resource itself
 */
export function noteReads(
  model: FhirModel,
  expression: string,
  from: readonly Place[],
  type: string,
  reach: Reach,
): void {
  const walk = new ExpressionWalk(model, { places: from, made: false }, rootPlace(type), reach);
  walk.read(walk.visit(parseFhirPath(expression), { places: from, made: false }));
}

/** An expression can multiply places; beyond this number it counts as reading the whole resource. */
const MAX_PLACES = 1_000;

class ExpressionWalk {
  readonly #whole: Found;
  #total = MADE;

  constructor(
    private readonly model: FhirModel,
    private readonly context: Found,
    resource: Place,
    private readonly reach: Reach,
  ) {
    this.#whole = { places: [resource], made: false };
  }

  /** @param self `$this` */
  visit(wrapped: SyntaxNode, self: Found): Found {
    const node = unwrap(wrapped);
    const [first, second] = node.children ?? [];
    switch (node.type) {
      case 'ThisInvocation':
        return self;
      case 'IndexInvocation':
        this.#touch(self);
        return MADE;
      case 'TotalInvocation':
        return this.#total;
      case 'MemberInvocation':
        return this.#member(self, unquote(node.text ?? ''));
      case 'FunctionInvocation':
        return this.#call(node, self, self);
      case 'InvocationExpression':
        return this.#invoke(this.visit(first!, self), second!, self);
      case 'IndexerExpression': {
        const found = this.visit(first!, self);
        this.#touch(found);
        this.read(this.visit(second!, self));
        return found;
      }
      case 'TypeExpression': {
        const found = this.visit(first!, self);
        this.#touch(found);
        return node.text === 'as' ? this.#ofType(found, second?.text ?? '') : MADE;
      }
      case 'UnionExpression':
        return this.#compared(node.children!.map((operand) => this.visit(operand, self)));
      case 'ExternalConstantTerm':
        return this.#variable(unquote(node.delimitedText ?? node.text ?? ''));
      default:
        if (LITERAL.test(node.type)) return MADE;
        for (const child of node.children ?? []) this.read(this.visit(child, self));
        return OPERATORS.has(node.type) ? MADE : this.#everything();
    }
  }

  /** Everything inside the items counts. */
  read({ places }: Found): void {
    for (const place of places) this.reach.read(place);
  }

  /** The number of the items counts. */
  #touch({ places }: Found): void {
    for (const place of places) this.reach.touch(place);
  }

  #everything(): Found {
    this.read(this.#whole);
    return { ...below(this.#whole), made: true };
  }

  /** Equal items count once, so that their whole content decides. */
  #compared(all: readonly Found[]): Found {
    for (const found of all) this.read(found);
    return this.#union(...all);
  }

  #union(...all: readonly Found[]): Found {
    const places = new Map(all.flatMap((found) => found.places).map((place) => [keyOf(place), place]));
    const made = all.some((found) => found.made);
    return places.size > MAX_PLACES ? this.#everything() : { places: [...places.values()], made };
  }

  #variable(name: string): Found {
    if (name === 'context') return this.context;
    return name === 'resource' || name === 'rootResource' ? this.#whole : MADE;
  }

  #invoke(from: Found, invocation: SyntaxNode, self: Found): Found {
    if (invocation.type === 'MemberInvocation') return this.#member(from, unquote(invocation.text ?? ''));
    if (invocation.type === 'FunctionInvocation') return this.#call(invocation, from, self);
    this.#touch(from);
    return this.visit(invocation, self);
  }

  #member(from: Found, name: string): Found {
    const found = from.places.map((place) => ({ places: this.#named(place, name), made: false }));
    return this.#union(...found, from.made ? MADE : NOTHING);
  }

  #named(place: Place, name: string): readonly Place[] {
    if (place.type === BELOW) return [place];
    // `Patient.name`: the name of a type is a test of the item itself, which finds it or nothing.
    if (this.model.typeDefinition(name) !== undefined && /^[A-Z]/.test(name)) {
      const same = ofType(this.model, place, name);
      return same === undefined ? [] : [same];
    }
    const named = placesNamed(this.model, place, name);
    // fhirpath.js reads the first form of a choice that is there.
    if (named.length > 1) for (const form of named) this.reach.touch(form);
    if (named.length > 0) return named;
    const unknown = { ...place, path: [...place.path, name], type: BELOW };
    this.reach.read(unknown);
    return [unknown];
  }

  #ofType({ places, made }: Found, specifier: string): Found {
    const type = unquote(specifier.replace(/^.*\./s, ''));
    return { places: places.flatMap((place) => ofType(this.model, place, type) ?? []), made };
  }

  /** @param self `$this` outside the call, where some functions evaluate their parameters */
  #call(node: SyntaxNode, from: Found, self: Found): Found {
    const parameters = parametersOf(node);
    const [first] = parameters as [SyntaxNode];
    const argument = (parameter: SyntaxNode): Found =>
      this.visit(parameter, this.#union(from, self, this.context, this.#whole));
    const name = unquote(node.text ?? '');
    switch (name) {
      case 'first':
      case 'last':
      case 'tail':
      case 'single':
      case 'skip':
      case 'take':
        this.#touch(from);
        for (const parameter of parameters) this.read(argument(parameter));
        return from;
      case 'count':
      case 'empty':
      case 'exists':
      case 'all':
      case 'is':
        this.#touch(from);
        if (name !== 'is') for (const criteria of parameters) this.read(this.visit(criteria, from));
        return MADE;
      case 'where':
        this.read(this.visit(first, from));
        return from;
      case 'select': {
        const found = this.visit(first, from);
        if (!isPlainPath(first)) this.#touch(from);
        return found;
      }
      case 'as':
        this.#touch(from);
        return this.#ofType(from, typeNameOf(first));
      case 'ofType':
        return this.#ofType(from, typeNameOf(first));
      case 'extension': {
        const extensions = this.#member(from, 'extension');
        this.read(this.#member(extensions, 'url'));
        this.read(argument(first));
        return extensions;
      }
      case 'children':
      case 'descendants':
        this.read(from);
        return below(from);
      case 'repeat': {
        if (!isPlainPath(first)) this.#touch(from);
        const once = this.#compared([this.visit(first, from)]);
        const again = this.#compared([this.visit(first, below(once))]);
        return this.#union(below(once), below(again));
      }
      case 'aggregate':
        return this.#aggregate(from, parameters, argument);
      case 'iif': {
        this.#touch(from);
        const [criterion, ...results] = parameters.map(argument);
        this.read(criterion!);
        return this.#union(...results, MADE);
      }
      case 'coalesce': {
        this.#touch(from);
        const found = parameters.map(argument);
        for (const one of found) this.#touch(one);
        return this.#union(...found);
      }
      case 'distinct':
        return this.#compared([from]);
      case 'combine':
      case 'exclude':
      case 'intersect':
      case 'union':
        return this.#compared([from, argument(first)]);
      case 'now':
      case 'timeOfDay':
      case 'today':
        return MADE;
      case 'resolve':
        this.read(from);
        return this.#resolved();
      case 'defineVariable':
        // The name may be that of another variable.
        return this.#everything();
      default:
        return { ...below(this.#compared([from, ...parameters.map(argument)])), made: true };
    }
  }

  #aggregate(from: Found, [step, start]: readonly SyntaxNode[], argument: (parameter: SyntaxNode) => Found): Found {
    const outer = this.#total;
    const started = this.#compared(start === undefined ? [from] : [from, argument(start)]);
    this.#total = { ...below(started), made: true };
    const result = this.#compared([this.visit(step!, from)]);
    this.#total = { ...below(this.#union(started, result)), made: true };
    const again = this.#compared([this.visit(step!, from)]);
    this.#total = outer;
    return { ...below(this.#union(started, result, again)), made: true };
  }

  /** Resources inside, which references name; of others an expression sees no more than the reference says. */
  #resolved(): Found {
    const heads = this.#whole.places.flatMap((resource) => [
      ...placesNamed(this.model, resource, 'contained'),
      ...placesNamed(this.model, resource, 'entry').flatMap((entry) => [
        ...placesNamed(this.model, entry, 'resource'),
        ...placesNamed(this.model, entry, 'fullUrl'),
      ]),
    ]);
    const found = {
      places: heads.flatMap((head) => [head, ...placesNamed(this.model, head, 'contained')]),
      made: true,
    };
    this.#touch(found);
    this.read(this.#member(found, 'id'));
    return found;
  }
}

const NOTHING: Found = { places: [], made: false };

const LITERAL = /Literal$/;

/** The nodes whose result is made of their operands' values alone. */
const OPERATORS: ReadonlySet<string> = new Set([
  ...['EqualityExpression', 'InequalityExpression', 'MembershipExpression', 'AndExpression', 'OrExpression'],
  ...['XorExpression', 'ImpliesExpression', 'AdditiveExpression', 'MultiplicativeExpression', 'PolarityExpression'],
  ...['SortDirectionArgument', 'SortArgument'],
]);

/** Anything inside places that are read whole. */
function below({ places, made }: Found): Found {
  return { places: places.map((place) => ({ ...place, type: BELOW })), made };
}

/** `name.given`, which finds nothing in an item that is not there. */
function isPlainPath(wrapped: SyntaxNode): boolean {
  const node = unwrap(wrapped);
  if (node.type !== 'InvocationExpression') return node.type === 'MemberInvocation' || node.type === 'ThisInvocation';
  return node.children!.every(isPlainPath);
}

function typeNameOf(parameter: SyntaxNode): string {
  return parameter.text ?? unwrap(parameter).text ?? nameIn(parameter);
}

/** `FHIR.Patient` is parsed as a path. */
function nameIn(node: SyntaxNode): string {
  const inner = unwrap(node);
  return inner.type === 'InvocationExpression' ? nameIn(inner.children![1]!) : (inner.text ?? '');
}

function keyOf({ path, type, within }: Place): string {
  return JSON.stringify([path, type, within]);
}
