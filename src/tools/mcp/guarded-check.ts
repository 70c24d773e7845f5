import type { JsonSchema } from '../../agent/messages.ts'
import { createGuardedCompiler, SchemaTimeout, type GuardedCheck } from '../../json/schema/guarded-compiler.ts'
import { describeSchemaError } from '../builder.ts'
import { limits } from './limits.ts'
import { messageOf } from '../../errors.ts'

/** Creates a `Tool.check` for an untrusted schema. Throws the reason, as a clause, when the schema cannot be used. */
export type CheckMaker = (schema: JsonSchema) => (input: unknown) => string | undefined

export function createCheckMaker(): CheckMaker {
  const compileGuarded = createGuardedCompiler(limits)

  function compile(schema: JsonSchema): GuardedCheck {
    try {
      return compileGuarded(schema)
    } catch (error) {
      if (error instanceof SchemaTimeout) throw new Error('its input schema takes too long to compile', { cause: error })
      throw new Error(`its input schema cannot be used: ${messageOf(error)}`, { cause: error })
    }
  }

  return (schema) => {
    const check = compile(schema)
    return (input) => {
      try {
        const errors = check(input)
        return errors && describeSchemaError(errors[0])
      } catch (error) {
        if (!(error instanceof SchemaTimeout)) throw error
        return `the input could not be checked within ${limits.checkMs} ms`
      }
    }
  }
}
