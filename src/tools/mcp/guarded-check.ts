import { threadCpuUsage } from 'node:process'
import vm from 'node:vm'
import { Ajv, type Options, type ValidateFunction } from 'ajv'
import { Ajv2019 } from 'ajv/dist/2019.js'
import { Ajv2020 } from 'ajv/dist/2020.js'
import type { JsonSchema } from '../../agent/messages.ts'
import { describeSchemaError } from '../builder.ts'
import { limits } from './limits.ts'
import { messageOf } from '../../errors.ts'

/** Creates a `Tool.check` for an untrusted schema. Throws the reason, as a clause, when the schema cannot be used. */
export type CheckMaker = (schema: JsonSchema) => (input: unknown) => string | undefined

type Dialect = typeof Ajv | typeof Ajv2019 | typeof Ajv2020

export function createCheckMaker(): CheckMaker {
  // Creating an Ajv instance takes much longer than compiling a schema.
  const compilers = new Map<Dialect, Ajv>()

  function compile(schema: JsonSchema): ValidateFunction {
    const { $schema: dialect, ...rest } = schema
    const kind = dialectOf(dialect)
    const ajv = compilers.get(kind) ?? new kind(options)
    // The instance is put back only after a complete compilation: an interrupted instance may be inconsistent.
    compilers.delete(kind)
    try {
      const validate = within(limits.compileMs, () => ajv.compile(rest))
      ajv.removeSchema(rest)
      compilers.set(kind, ajv)
      return validate
    } catch (error) {
      if (isTimeout(error)) throw new Error('its input schema takes too long to compile', { cause: error })
      throw new Error(`its input schema cannot be used: ${messageOf(error)}`, { cause: error })
    }
  }

  return (schema) => {
    const validate = compile(schema)
    return (input) => {
      try {
        return within(limits.checkMs, () => validate(input)) ? undefined : describeSchemaError(validate.errors?.[0])
      } catch (error) {
        if (!isTimeout(error)) throw error
        return `the input could not be checked within ${limits.checkMs} ms`
      }
    }
  }
}

const options: Options = {
  strict: false,
  logger: false,
  // As in `createCheck`: inherited properties do not count as sent.
  ownProperties: true,
  // Two tools may have schemas with the same `$id`.
  addUsedSchema: false,
  // Patterns are written for engines with and without the `u` flag; a pattern that is valid in neither is a fault.
  code: { regExp: Object.assign(toRegExp, { code: 'toRegExp' }) },
}

function toRegExp(pattern: string): RegExp {
  try {
    return new RegExp(pattern, 'u')
  } catch {
    return new RegExp(pattern)
  }
}

/** The dialect of `$schema`; the protocol defines 2020-12 as the default. */
function dialectOf(dialect: unknown): Dialect {
  if (dialect === undefined) return Ajv2020
  const name = typeof dialect === 'string' ? dialect.replace(/^http:/, 'https:').replace(/#$/, '') : ''
  if (name === 'https://json-schema.org/draft/2020-12/schema') return Ajv2020
  if (name === 'https://json-schema.org/draft/2019-09/schema') return Ajv2019
  if (/^https:\/\/json-schema\.org\/draft-0[67]\/schema$/.test(name)) return Ajv
  throw new Error('its input schema is of an unknown dialect')
}

function isTimeout(error: unknown): boolean {
  // The error was created in another context, so `instanceof Error` is false.
  return typeof error === 'object' && error !== null && 'code' in error && error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT'
}

const context = vm.createContext({ work: undefined }) as { work: (() => unknown) | undefined }
const script = new vm.Script('work()')
/** Each attempt may take twice as long as the previous attempt. */
const maxAttempts = 4

/**
 * Runs synchronous work that may never end (a backtracking pattern, multiplying references) for at most `ms` milliseconds. The work is
 * called from a `vm` script, because only such a script can be interrupted.
 */
function within<T>(ms: number, work: () => T): T {
  for (let attempt = 1; ; attempt++) {
    const before = threadCpuUsage()
    context.work = work
    try {
      return script.runInContext(context, { timeout: ms * 2 ** (attempt - 1) }) as T
    } catch (error) {
      const { user, system } = threadCpuUsage(before)
      // The timeout measures wall time: with little CPU time used, the process was merely suspended, so the work is tried again.
      if (!isTimeout(error) || (user + system) / 1000 > ms / 2 || attempt === maxAttempts) throw error
    } finally {
      context.work = undefined
    }
  }
}
