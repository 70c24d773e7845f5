import { threadCpuUsage } from 'node:process'
import vm from 'node:vm'
import { Ajv, type Options, type ValidateFunction } from 'ajv'
import { Ajv2019 } from 'ajv/dist/2019.js'
import { Ajv2020 } from 'ajv/dist/2020.js'
import type { JsonSchema } from '../../agent/messages.ts'
import { describeSchemaError } from '../builder.ts'
import { limits } from './limits.ts'
import { messageOf } from '../../errors.ts'

/** Makes a `Tool.check` for a schema that a stranger wrote. Throws where it can't be used: why, in a clause. */
export type CheckMaker = (schema: JsonSchema) => (input: unknown) => string | undefined

type Dialect = typeof Ajv | typeof Ajv2019 | typeof Ajv2020

export function createCheckMaker(): CheckMaker {
  // To make one takes much longer than to compile a schema with it.
  const compilers = new Map<Dialect, Ajv>()

  function compile(schema: JsonSchema): ValidateFunction {
    const { $schema: dialect, ...rest } = schema
    const kind = dialectOf(dialect)
    const ajv = compilers.get(kind) ?? new kind(options)
    // Back in its place only when it was not stopped half-way.
    compilers.delete(kind)
    try {
      const validate = within(limits.compileMs, () => ajv.compile(rest))
      ajv.removeSchema(rest)
      compilers.set(kind, ajv)
      return validate
    } catch (error) {
      if (isTimeout(error)) throw new Error('its input schema takes too long to compile', { cause: error })
      throw new Error(`its input schema can't be used: ${messageOf(error)}`, { cause: error })
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
  // As in `createCheck`.
  ownProperties: true,
  // Two tools may have schemas of the same id.
  addUsedSchema: false,
  // Patterns are written for engines with and without the flag; those that fit neither are faults.
  code: { regExp: Object.assign(toRegExp, { code: 'toRegExp' }) },
}

function toRegExp(pattern: string): RegExp {
  try {
    return new RegExp(pattern, 'u')
  } catch {
    return new RegExp(pattern)
  }
}

/** By `$schema`; the protocol says 2020-12 where there is none. */
function dialectOf(dialect: unknown): Dialect {
  if (dialect === undefined) return Ajv2020
  const name = typeof dialect === 'string' ? dialect.replace(/^http:/, 'https:').replace(/#$/, '') : ''
  if (name === 'https://json-schema.org/draft/2020-12/schema') return Ajv2020
  if (name === 'https://json-schema.org/draft/2019-09/schema') return Ajv2019
  if (/^https:\/\/json-schema\.org\/draft-0[67]\/schema$/.test(name)) return Ajv
  throw new Error('its input schema is of an unknown dialect')
}

function isTimeout(error: unknown): boolean {
  // It is made in the other context, where `Error` is another.
  return typeof error === 'object' && error !== null && 'code' in error && error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT'
}

const context = vm.createContext({ work: undefined }) as { work: (() => unknown) | undefined }
const script = new vm.Script('work()')
/** Each may take twice as long as the one before. */
const maxAttempts = 4

/**
 * Runs work of this thread that may be without end (a pattern that backtracks, references that multiply), for so long. Only a script of
 * `vm` can be stopped; what it calls may be anything.
 */
function within<T>(ms: number, work: () => T): T {
  for (let attempt = 1; ; attempt++) {
    const before = threadCpuUsage()
    context.work = work
    try {
      return script.runInContext(context, { timeout: ms * 2 ** (attempt - 1) }) as T
    } catch (error) {
      const { user, system } = threadCpuUsage(before)
      // The clock went on while others had the processor: nothing is known of the work then.
      if (!isTimeout(error) || (user + system) / 1000 > ms / 2 || attempt === maxAttempts) throw error
    } finally {
      context.work = undefined
    }
  }
}
