import type { AnswerSchema } from '../../agent/options.ts'
import type { EndReason, Mismatch } from '../../agent/events.ts'
import type { JsonSchema, JsonValue } from '../../agent/messages.ts'
import { ServiceError, toErrorBody, type ErrorBody } from '../../errors.ts'
import { isDeeper, maxJsonDepth } from '../../json/shape.ts'

/** The faults of a value as clauses; empty for a valid value. */
type FaultsOf = (schema: JsonSchema, value: JsonValue) => Promise<string[]>

/** The schema of a run's answer, as the loop needs it. */
export function toAnswerSchema(schema: JsonSchema, maxRepairs: number, faultsOf: FaultsOf): AnswerSchema {
  // The loop checks the same answer when it arrives and at the end.
  let last: { text: string; fault: Promise<string | undefined> } | undefined
  return {
    schema,
    maxRepairs,
    faultOf(text) {
      if (last?.text !== text) last = { text, fault: findFault(schema, text, faultsOf) }
      return last.fault
    },
  }
}

async function findFault(schema: JsonSchema, text: string, faultsOf: FaultsOf): Promise<string | undefined> {
  let value: JsonValue
  try {
    value = JSON.parse(text) as JsonValue
  } catch {
    return text.trim() === '' ? 'it has no text' : 'it is not JSON'
  }
  if (isDeeper(value, maxJsonDepth)) return 'it is nested too deeply'
  const faults = await faultsOf(schema, value)
  return faults.length > 0 ? faults.join('; ') : undefined
}

/** The error of a run whose answer does not fit its schema. */
export function schemaMismatch({ text, fault, cause }: Mismatch): ServiceError {
  const reason = cause === undefined ? '' : causes[cause]
  return new ServiceError('schema_mismatch', `The answer does not fit its schema: ${fault}.${reason}`, { details: { output: text } })
}

const causes: Record<NonNullable<Mismatch['cause']>, string> = {
  timeout: ' The run reached max_execution_time.',
  content_filter: ' The provider of the model stopped the answer.',
}

/** The reason of an end with an error. */
export function reasonOfError({ details }: ErrorBody): EndReason {
  return details?.error_type === mismatchType ? 'schema_mismatch' : 'error'
}

const mismatchType = toErrorBody(new ServiceError('schema_mismatch', '')).details?.error_type
