import { expressionFunction } from 'vega'
import { ofVega, ofViews } from './functions.ts'
import { member } from './member.ts'

/**
 * Expressions of a specification, worked out from their syntax tree: nothing that a specification says is ever made into a program. An expression reads
 * own properties of data alone (`member`), and calls only functions that read (`ofVega`).
 */

/** A node of Vega's own parser. */
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
type Callable = (...values: unknown[]) => unknown

/** The part of a runtime context that matters here: functions are called on it. */
interface Context {
  functions?: object
}

interface Parsed {
  ast: Node
}

type Item = Record<string, unknown> & { datum?: unknown }

/** What `View` takes as its option `expr`. */
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
      if (marktype !== 'rule') place(item, marktype, names)
      return isChanged ? 1 : 0
    }
  },
}

/** As Vega's own encoders end: width and height from two ends, or a place from a centre. */
function place(item: Item, marktype: string, names: ReadonlySet<string>): void {
  for (const [from, to, size, centre] of [
    ['x', 'x2', 'width', 'xc'],
    ['y', 'y2', 'height', 'yc'],
  ] as const) {
    const at = (name: string) => item[name] as number
    if (names.has(to) && names.has(from)) {
      if (swapped.has(marktype) && at(from) > at(to)) [item[from], item[to]] = [item[to], item[from]]
      item[size] = at(to) - at(from)
    } else if (names.has(to)) item[from] = at(to) - (at(size) || 0)
    if (names.has(centre)) item[from] = at(centre) - (at(size) || 0) / 2
  }
}

const swapped: ReadonlySet<string> = new Set(['group', 'image', 'rect'])

const constants: Readonly<Record<string, number>> = {
  ...{ NaN, E: Math.E, LN2: Math.LN2, LN10: Math.LN10, LOG2E: Math.LOG2E, LOG10E: Math.LOG10E, PI: Math.PI },
  ...{ SQRT1_2: Math.SQRT1_2, SQRT2: Math.SQRT2, MIN_VALUE: Number.MIN_VALUE, MAX_VALUE: Number.MAX_VALUE },
}

/** A node becomes a function once, not at each of a million rows. */
function toEvaluate(node: Node, context: Context): Evaluate {
  const inner = (one: Node | undefined): Evaluate => toEvaluate(one!, context)
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
      throw new Error(`An expression can not use ${node.type}.`)
  }
}

function toIdentifier({ name, value }: Node): Evaluate {
  // Vega's own reference to the value of another operator has no name.
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
      throw new Error(`An expression can not use ${operator}.`)
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
  if (!apply) throw new Error(`An expression can not use ${operator}.`)
  return (scope) => apply(left(scope), right(scope))
}

function toCall(node: Node, context: Context): Evaluate {
  const name = node.callee!.name ?? ''
  const values = node.arguments!.map((argument) => toEvaluate(argument, context))
  const [first = () => undefined, second = () => undefined, third = () => undefined] = values
  // Only the branch that is chosen is worked out.
  if (name === 'if') return (scope) => (first(scope) ? second(scope) : third(scope))
  if (Object.hasOwn(ofScales, name)) {
    const scale: Evaluate = (scope) => scope.parameters[`%${String(first(scope))}`]
    return (scope) => ofScales[name]!(scale(scope), second(scope))
  }
  if (ofEvents.has(name)) return () => undefined
  const own = Object.hasOwn(plain, name) ? plain[name] : undefined
  if (own) return (scope) => own(...values.map((value) => value(scope)))
  if (ofViews.has(name)) return () => refuse(name)
  const known: unknown = ofVega.has(name) ? expressionFunction(name) : undefined
  if (typeof known !== 'function') return refuse(name)
  return (scope) =>
    known.apply(
      context.functions,
      values.map((value) => value(scope)),
    ) as unknown
}

function refuse(name: string): never {
  throw new Error(`An expression can not use the function ${name}.`)
}

/** Selections speak of the mouse, of which a picture knows nothing. */
const ofEvents: ReadonlySet<string> = new Set(['view', 'item', 'group', 'xy', 'x', 'y'])

interface Scale {
  (value: unknown): unknown
  bandwidth?(): number
  range?(): unknown
}

/** What Vega's own encoders call. */
const ofScales: Readonly<Record<string, (scale: unknown, value: unknown) => unknown>> = {
  _scale: (scale, value) => (typeof scale === 'function' ? (scale as Scale)(value) : undefined),
  _range: (scale) => (scale as Scale).range?.(),
  _bandwidth: (scale) => (scale as Scale | undefined)?.bandwidth?.() ?? 0,
}

function dated(name: keyof Date): Callable {
  return (value) => (new Date(value as number)[name] as () => unknown)()
}

/** Functions that Vega writes as JavaScript itself; it holds the others ready. */
const plain = {
  ...{ isNaN: Number.isNaN, isFinite: Number.isFinite },
  ...{ abs: Math.abs, acos: Math.acos, asin: Math.asin, atan: Math.atan, atan2: Math.atan2, ceil: Math.ceil, cos: Math.cos, exp: Math.exp },
  ...{ floor: Math.floor, hypot: Math.hypot, log: Math.log, max: Math.max, min: Math.min, pow: Math.pow, random: Math.random },
  ...{ round: Math.round, sin: Math.sin, sqrt: Math.sqrt, tan: Math.tan },
  clamp: (value: number, low: number, high: number) => Math.max(low, Math.min(high, value)),
  now: Date.now,
  utc: Date.UTC,
  datetime: (...parts: number[]) => new Date(...(parts as [])),
  ...{ date: dated('getDate'), day: dated('getDay'), year: dated('getFullYear'), month: dated('getMonth'), hours: dated('getHours') },
  ...{ minutes: dated('getMinutes'), seconds: dated('getSeconds'), milliseconds: dated('getMilliseconds'), time: dated('getTime') },
  timezoneoffset: dated('getTimezoneOffset'),
  ...{ utcdate: dated('getUTCDate'), utcday: dated('getUTCDay'), utcyear: dated('getUTCFullYear'), utcmonth: dated('getUTCMonth') },
  ...{ utchours: dated('getUTCHours'), utcminutes: dated('getUTCMinutes'), utcseconds: dated('getUTCSeconds') },
  utcmilliseconds: dated('getUTCMilliseconds'),
  length: (value: unknown[]) => value.length,
  ...{ parseFloat: Number.parseFloat, parseInt: Number.parseInt, btoa, atob, encodeURIComponent },
  upper: (text: unknown) => String(text).toUpperCase(),
  lower: (text: unknown) => String(text).toLowerCase(),
  substring: (text: unknown, start: number, end?: number) => String(text).substring(start, end),
  split: (text: unknown, separator: string, limit?: number) => String(text).split(separator, limit),
  trim: (text: unknown) => String(text).trim(),
  regexp: (pattern: string, flags?: string) => new RegExp(pattern, flags),
  test: (pattern: string | RegExp, text: unknown) => new RegExp(pattern).test(String(text)),
} as unknown as Readonly<Record<string, Callable>>
