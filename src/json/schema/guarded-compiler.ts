import { createRequire } from 'node:module'
import { threadCpuUsage } from 'node:process'
import vm from 'node:vm'
import { Ajv, type ErrorObject, type Options, type ValidateFunction } from 'ajv'
import { ajvOptions } from './ajv.ts'

/** Compiles untrusted JSON Schemas with Ajv, and validates with them: both are interrupted where they take too long. */

/** A JSON Schema. */
export interface Schema {
  readonly [keyword: string]: unknown
}

/** Time limits of a compiler. */
export interface GuardLimits {
  /** Milliseconds for one compilation. */
  compileMs: number
  /** Milliseconds for one validation: a pattern can backtrack endlessly. */
  checkMs: number
}

/** Returns the errors of a value; undefined for a valid one. Throws `SchemaTimeout`. */
export type GuardedCheck = (value: unknown) => readonly ErrorObject[] | undefined

/** A compilation or a validation took too long. */
export class SchemaTimeout extends Error {
  constructor(options?: ErrorOptions) {
    super('takes too long', options)
    this.name = 'SchemaTimeout'
  }
}

/** A schema that cannot be used, with the errors of the meta-schema where these are the reason. */
export class UnusableSchema extends Error {
  readonly errors: readonly ErrorObject[]

  constructor(message: string, errors: readonly ErrorObject[] = []) {
    super(message)
    this.name = 'UnusableSchema'
    this.errors = errors
  }
}

type Dialect = '2020' | '2019' | '07'

const require = createRequire(import.meta.url)

/** The dialects besides draft-07 are loaded at their first use: a start needs none. */
const loaders: Record<Dialect, () => new (options: Options) => Ajv> = {
  '2020': () => (require('ajv/dist/2020.js') as typeof import('ajv/dist/2020.js')).Ajv2020,
  '2019': () => (require('ajv/dist/2019.js') as typeof import('ajv/dist/2019.js')).Ajv2019,
  '07': () => Ajv,
}

/**
 * Creates a compiler. `extra` options are Ajv's. The returned function throws `UnusableSchema` for an invalid schema, and
 * `SchemaTimeout` for a schema that takes too long to compile.
 */
export function createGuardedCompiler({ compileMs, checkMs }: GuardLimits, extra: Options = {}): (schema: Schema) => GuardedCheck {
  // Creating an Ajv instance takes much longer than compiling a schema.
  const compilers = new Map<Dialect, Ajv>()

  /** Takes an instance, which is put back only after a complete compilation: an interrupted instance is inconsistent. */
  function takeCompiler(dialect: Dialect): Ajv {
    const kept = compilers.get(dialect)
    compilers.delete(dialect)
    if (kept) return kept
    const ajv = new (loaders[dialect]())({ ...ajvOptions.guarded, ...extra })
    // Compiles the meta-schema, which is trusted and takes its time in a process that has just started.
    void ajv.validateSchema({})
    return ajv
  }

  function compile(schema: Schema): ValidateFunction {
    const { $schema, ...rest } = schema
    const dialect = dialectOf($schema)
    const prepare = () => takeCompiler(dialect)
    const { ajv, errors, validate } = within(compileMs, prepare, (taken) => {
      const isValid = taken.validateSchema(rest) === true
      return { ajv: taken, errors: [...(taken.errors ?? [])], validate: isValid ? compileWith(taken, rest) : undefined }
    })
    // Another schema may have the same `$id`. (With `addUsedSchema: false`, Ajv does not resolve `#`.)
    ajv.removeSchema(rest)
    compilers.set(dialect, ajv)
    if (!validate) throw new UnusableSchema(describeErrors(errors), errors)
    // The validator of such a schema answers with a promise, which counts as valid.
    if ('$async' in validate) throw new UnusableSchema('$async is not supported')
    return validate
  }

  return (schema) => {
    const validate = compile(schema)
    return (value) => (within(checkMs, nothing, () => validate(value)) ? undefined : [...(validate.errors ?? [])])
  }
}

function compileWith(ajv: Ajv, schema: Schema): ValidateFunction {
  try {
    return ajv.compile(schema)
  } catch (error) {
    throw new UnusableSchema(error instanceof Error ? error.message : String(error))
  }
}

function describeErrors(errors: readonly ErrorObject[]): string {
  const [first] = errors
  return first ? `schema is invalid: ${first.instancePath || '/'} ${first.message ?? 'does not fit'}` : 'schema is invalid'
}

/** The dialect of `$schema`; 2020-12 by default, as OpenAPI 3.1 and MCP define. Throws `UnusableSchema` for an unknown one. */
function dialectOf(dialect: unknown): Dialect {
  if (dialect === undefined) return '2020'
  const name = typeof dialect === 'string' ? dialect.replace(/^http:/, 'https:').replace(/#$/, '') : ''
  if (name === 'https://json-schema.org/draft/2020-12/schema') return '2020'
  if (name === 'https://json-schema.org/draft/2019-09/schema') return '2019'
  if (/^https:\/\/json-schema\.org\/draft-0[67]\/schema$/.test(name)) return '07'
  throw new UnusableSchema('its $schema names an unknown dialect; known are 2020-12, 2019-09, draft-07 and draft-06')
}

function isTimeout(error: unknown): boolean {
  // The error was created in another context, so `instanceof Error` is false.
  return typeof error === 'object' && error !== null && 'code' in error && error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT'
}

interface Interruptible {
  context: { work: (() => unknown) | undefined }
  script: vm.Script
}

/** Created at the first use: a context takes time and memory. */
let interruptible: Interruptible | undefined

function createInterruptible(): Interruptible {
  return { context: vm.createContext({ work: undefined }) as Interruptible['context'], script: new vm.Script('work()') }
}

const nothing = () => undefined

/** Each attempt may take twice as long as the previous attempt. */
const maxAttempts = 4

/**
 * Runs synchronous work that may never end (a backtracking pattern, multiplying references) for at most `ms` milliseconds; then throws
 * `SchemaTimeout`. The work is called from a `vm` script, because only such a script can be interrupted. Each attempt gets a value of
 * `prepare`, whose time does not count.
 */
export function within<Prepared, Result>(ms: number, prepare: () => Prepared, work: (prepared: Prepared) => Result): Result {
  const { context, script } = (interruptible ??= createInterruptible())
  for (let attempt = 1; ; attempt++) {
    const prepared = prepare()
    const before = threadCpuUsage()
    context.work = () => work(prepared)
    try {
      return script.runInContext(context, { timeout: ms * 2 ** (attempt - 1) }) as Result
    } catch (error) {
      if (!isTimeout(error)) throw error
      const { user, system } = threadCpuUsage(before)
      // The timeout measures wall time: work that has not used its processor time was kept waiting by others, and is tried again.
      if ((user + system) / 1000 > ms * 0.9 || attempt === maxAttempts) throw new SchemaTimeout({ cause: error })
    } finally {
      context.work = undefined
    }
  }
}

/** Characters of the schemas that are kept, together. A compiled schema takes about 35 times the memory of its text. */
const maxCharacters = 1_048_576

/** Compiled schemas that are kept, since callers repeat their schemas. The least recently used give way to new ones. */
export class KeptChecks<T> {
  private readonly entries = new Map<string, { value: T; characters: number }>()
  private total = 0

  /** Undefined for a schema that is not kept. */
  find(key: string): T | undefined {
    const entry = this.entries.get(key)
    if (!entry) return undefined
    this.entries.delete(key)
    this.entries.set(key, entry)
    return entry.value
  }

  /** `characters`: length of the schema's text. */
  keep(key: string, value: T, characters: number): T {
    this.remove(key)
    this.entries.set(key, { value, characters })
    this.total += characters
    for (const oldest of this.entries.keys()) {
      if (this.total <= maxCharacters) break
      this.remove(oldest)
    }
    return value
  }

  private remove(key: string): void {
    this.total -= this.entries.get(key)?.characters ?? 0
    this.entries.delete(key)
  }
}
