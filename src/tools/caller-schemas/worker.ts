import type { JsonSchema } from '../../agent/messages.ts'
import { messageOf } from '../../errors.ts'
import { schemaLimits, type SchemaFault } from '../../json/schema/answer-schema.ts'
import { SchemaTimeout } from '../../json/schema/guarded-compiler.ts'
import { freezeIntrinsics } from '../../processes/freeze-intrinsics.ts'
import { serveQuestions } from '../../processes/serve-questions.ts'
import type { SchemaUse } from '../../runs/execution/ports.ts'
import { createSchemaChecks } from './schema-checks.ts'

/** A worker process for schemas of callers: answers `SchemaQuestion` messages in order, and exits when its channel closes. */

/** Asks for the fault of a schema or, with a value, for the faults of the value. `schema` and `value` are JSON. */
export interface SchemaQuestion {
  use: SchemaUse
  schema: string
  value?: string
}

export type SchemaAnswer = { fault: SchemaFault | undefined } | { faults: string[] } | { isTimeout: true } | { error: string }

const checks = createSchemaChecks(schemaLimits)

function answer({ use, schema, value }: SchemaQuestion): SchemaAnswer {
  try {
    const parsed = JSON.parse(schema) as JsonSchema
    return value === undefined ? { fault: checks.faultOf(use, parsed) } : { faults: checks.faultsOf(use, parsed, JSON.parse(value)) }
  } catch (error) {
    return error instanceof SchemaTimeout ? { isTimeout: true } : { error: messageOf(error).slice(0, 500) }
  }
}

// The compilers are created at their first use, which must not count against the time of a question.
answer({ use: 'answer', schema: '{"type":"object"}' })
answer({ use: 'input', schema: '{"type":"object"}' })
freezeIntrinsics()
serveQuestions(answer)
