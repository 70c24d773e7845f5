import { expressionFunction } from 'vega'
import { constants, nativeFunctions, vegaFunctions, viewFunctions, member } from './functions.ts'

/**
 * Evaluates expressions of a specification from their syntax tree. No text of a specification is ever compiled to code. An expression reads only
 * own properties of data (`member`) and calls only functions without side effects (`vegaFunctions`). Vega's own interpreter is not used, because
 * `vega-interpreter` returns any member of an object except four functions and calls inherited names.
 */

/** A node from the parser of Vega. */
export interface Node {
  type: string
  name?: string
  value?: unknown
  regex?: { pattern: string; flags: string }
  operator?: string
  computed?: boolean
  object?: Node
  property?: Node
  callee?: Node
  arguments?: Node[]
  elements?: Node[]
  properties?: Node[]
  key?: Node
  left?: Node
  right?: Node
  argument?: Node
  test?: Node
  consequent?: Node
  alternate?: Node
}

interface Scope {
  datum?: unknown
  event?: unknown
  item?: unknown
  /** Signals under `$<name>`, scales under `%<name>`. */
  parameters: Record<string, unknown>
}

type Evaluate = (scope: Scope) => unknown

/** The used part of a runtime context: `functions` is `this` of the called functions. */
interface Context {
  functions?: object
}

interface Parsed {
  ast: Node
}

type Item = Record<string, unknown> & { datum?: unknown }

/** The option `expr` of `View`. */
export const expressions = {
  operator(context: Context, { ast }: Parsed) {
    const evaluate = toEvaluate(ast, context)
    return (parameters: Scope['parameters']) => evaluate({ parameters })
  },
  parameter(context: Context, { ast }: Parsed) {
    const evaluate = toEvaluate(ast, context)
    return (datum: unknown, parameters: Scope['parameters']) => evaluate({ datum, parameters })
  },
  event(context: Context, { ast }: Parsed) {
    const evaluate = toEvaluate(ast, context)
    return (event: unknown) => evaluate({ event, parameters: {} })
  },
  handler(context: Context, { ast }: Parsed) {
    const evaluate = toEvaluate(ast, context)
    return (parameters: Scope['parameters'], event?: { item?: Item }) => evaluate({ datum: event?.item?.datum, event, parameters })
  },
  encode(context: Context, { marktype, channels }: { marktype: string; channels: Record<string, Parsed> }) {
    const encoders = Object.entries(channels).map(([name, { ast }]) => [name, toEvaluate(ast, context)] as const)
    const names = new Set(Object.keys(channels))
    return (item: Item, parameters: Scope['parameters']) => {
      const scope: Scope = { item, datum: item.datum, parameters }
      let isChanged = false
      for (const [name, evaluate] of encoders) {
        const value = evaluate(scope)
        if (item[name] === value) continue
        item[name] = value
        isChanged = true
      }
      if (marktype !== 'rule') setGeometry(item, marktype, names)
      return isChanged ? 1 : 0
    }
  },
}

/** Computes width and height from two ends, or a position from a centre, as the encoders of Vega do last. */
function setGeometry(item: Item, marktype: string, names: ReadonlySet<string>): void {
  for (const [start, end, size, centre] of [
    ['x', 'x2', 'width', 'xc'],
    ['y', 'y2', 'height', 'yc'],
  ] as const) {
    const at = (name: string) => item[name] as number
    if (names.has(end) && names.has(start)) {
      if (swappedMarks.has(marktype) && at(start) > at(end)) [item[start], item[end]] = [item[end], item[start]]
      item[size] = at(end) - at(start)
    } else if (names.has(end)) item[start] = at(end) - (at(size) || 0)
    if (names.has(centre)) item[start] = at(centre) - (at(size) || 0) / 2
  }
}

const swappedMarks: ReadonlySet<string> = new Set(['group', 'image', 'rect'])

/** Compiles a node to a closure once, instead of interpreting the node again for each of a million rows. */
function toEvaluate(node: Node, context: Context): Evaluate {
  const inner = (child: Node | undefined): Evaluate => toEvaluate(child!, context)
  switch (node.type) {
    case 'Literal': {
      const value = node.regex ? new RegExp(node.regex.pattern, node.regex.flags) : node.value
      return () => value
    }
    case 'Identifier':
      return toIdentifier(node)
    case 'MemberExpression': {
      const object = inner(node.object)
      const key = node.computed ? inner(node.property) : () => node.property!.name
      return (scope) => member(object(scope), key(scope))
    }
    case 'CallExpression':
      return toCall(node, context)
    case 'ArrayExpression': {
      const elements = node.elements!.map(inner)
      return (scope) => elements.map((element) => element(scope))
    }
    case 'ObjectExpression': {
      const properties = node.properties!.map(({ key, value }) => [String(key!.name ?? key!.value), inner(value as Node)] as const)
      return (scope) => Object.fromEntries(properties.map(([key, value]) => [key, value(scope)]))
    }
    case 'UnaryExpression':
      return toUnary(node.operator!, inner(node.argument))
    case 'BinaryExpression':
      return toBinary(node.operator!, inner(node.left), inner(node.right))
    case 'LogicalExpression': {
      const [left, right] = [inner(node.left), inner(node.right)]
      return node.operator === '&&' ? (scope) => left(scope) && right(scope) : (scope) => left(scope) || right(scope)
    }
    case 'ConditionalExpression': {
      const [test, yes, no] = [inner(node.test), inner(node.consequent), inner(node.alternate)]
      return (scope) => (test(scope) ? yes(scope) : no(scope))
    }
    default:
      throw new Error(`An expression cannot use ${node.type}.`)
  }
}

function toIdentifier({ name, value }: Node): Evaluate {
  // A nameless identifier is Vega's reference to the value of an operator.
  if (name === undefined) return ({ parameters }) => parameters[`$${String(value)}`]
  if (name === 'datum' || name === 'event' || name === 'item') return (scope) => scope[name]
  if (Object.hasOwn(constants, name)) return () => constants[name]
  return ({ parameters }) => parameters[`$${name}`]
}

function toUnary(operator: string, argument: Evaluate): Evaluate {
  switch (operator) {
    case '+':
      return (scope) => Number(argument(scope))
    case '-':
      return (scope) => -(argument(scope) as number)
    case '~':
      return (scope) => ~(argument(scope) as number)
    case '!':
      return (scope) => !argument(scope)
    default:
      throw new Error(`An expression cannot use ${operator}.`)
  }
}

/* eslint-disable eqeqeq */
const binary: Readonly<Record<string, (a: never, b: never) => unknown>> = {
  '+': (a: number, b: number) => a + b,
  '-': (a: number, b: number) => a - b,
  '*': (a: number, b: number) => a * b,
  '/': (a: number, b: number) => a / b,
  '%': (a: number, b: number) => a % b,
  '<': (a: number, b: number) => a < b,
  '>': (a: number, b: number) => a > b,
  '<=': (a: number, b: number) => a <= b,
  '>=': (a: number, b: number) => a >= b,
  '==': (a: unknown, b: unknown) => a == b,
  '!=': (a: unknown, b: unknown) => a != b,
  '===': (a: unknown, b: unknown) => a === b,
  '!==': (a: unknown, b: unknown) => a !== b,
  '&': (a: number, b: number) => a & b,
  '|': (a: number, b: number) => a | b,
  '^': (a: number, b: number) => a ^ b,
  '<<': (a: number, b: number) => a << b,
  '>>': (a: number, b: number) => a >> b,
  '>>>': (a: number, b: number) => a >>> b,
}

function toBinary(operator: string, left: Evaluate, right: Evaluate): Evaluate {
  const apply = Object.hasOwn(binary, operator) ? (binary[operator] as (a: unknown, b: unknown) => unknown) : undefined
  if (!apply) throw new Error(`An expression cannot use ${operator}.`)
  return (scope) => apply(left(scope), right(scope))
}

function toCall(node: Node, context: Context): Evaluate {
  const name = node.callee!.name ?? ''
  const values = node.arguments!.map((argument) => toEvaluate(argument, context))
  const [first = () => undefined, second = () => undefined, third = () => undefined] = values
  // Only the chosen branch is evaluated.
  if (name === 'if') return (scope) => (first(scope) ? second(scope) : third(scope))
  if (Object.hasOwn(scaleFunctions, name)) {
    const scale: Evaluate = (scope) => scope.parameters[`%${String(first(scope))}`]
    return (scope) => scaleFunctions[name]!(scale(scope), second(scope))
  }
  if (selectionFunctions.has(name)) return () => undefined
  const native = Object.hasOwn(nativeFunctions, name) ? nativeFunctions[name] : undefined
  if (native) return (scope) => native(...values.map((value) => value(scope)))
  if (viewFunctions.has(name)) return () => refuse(name)
  const implementation: unknown = vegaFunctions.has(name) ? expressionFunction(name) : undefined
  if (typeof implementation !== 'function') return refuse(name)
  return (scope) =>
    implementation.apply(
      context.functions,
      values.map((value) => value(scope)),
    ) as unknown
}

function refuse(name: string): never {
  throw new Error(`An expression cannot use the function ${name}.`)
}

/** Functions of selections read the mouse, which a picture does not have. */
const selectionFunctions: ReadonlySet<string> = new Set(['view', 'item', 'group', 'xy', 'x', 'y'])

interface Scale {
  (value: unknown): unknown
  bandwidth?(): number
  range?(): unknown
}

/** Functions called by the encoders of Vega. */
const scaleFunctions: Readonly<Record<string, (scale: unknown, value: unknown) => unknown>> = {
  _scale: (scale, value) => (typeof scale === 'function' ? (scale as Scale)(value) : undefined),
  _range: (scale) => (scale as Scale).range?.(),
  _bandwidth: (scale) => (scale as Scale | undefined)?.bandwidth?.() ?? 0,
}
