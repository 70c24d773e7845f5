import { hash } from 'node:crypto'
import { getCompileCacheDir } from 'node:module'
import type { Owner } from '../../access/owner.ts'
import type { JsonSchema } from '../../agent/messages.ts'
import { messageOf, ServiceError } from '../../errors.ts'
import { schemaLimits, type SchemaFault } from '../../json/schema/answer-schema.ts'
import { SchemaTimeout, KeptChecks } from '../../json/schema/guarded-compiler.ts'
import { PoolBusy } from '../../processes/fair-pool.ts'
import { createQuestionPool } from '../../processes/question-pool.ts'
import type { CallerSchemas, SchemaUse } from '../../runs/execution/ports.ts'
import { createSchemaChecks, type SchemaChecks } from './schema-checks.ts'
import type { SchemaAnswer, SchemaQuestion } from './worker.ts'

/** Schemas up to this length compile in about 10 ms; the longest schemas take half a second, and malicious ones have no bound. */
const localCharacters = 2048
/** Milliseconds for which a check may hold up all other requests. A check that takes longer is repeated in a process. */
const localMs = 20
/** Time limit of a question in a process; its compilation and its check have limits of their own, in processor time. */
const questionMs = 10_000
/** Milliseconds without work after which a process is ended. */
const idleMs = 60_000
/** Seconds until a caller with too many waiting checks may retry. */
const retryAfter = 5
/** Characters that a kept result without a validator counts for. */
const resultCharacters = 256

const texts = {
  timedOut: 'takes too long',
  outOfMemory: 'takes too much memory',
  crashed: 'ended the process that worked on it',
  closed: 'the service is stopping',
}

interface KeptResult {
  fault: SchemaFault | undefined
  /** True for a schema that is checked in a process. */
  isSlow: boolean
  /** False where the process has failed, which may be different the next time, for another caller too. Such a result is not kept. */
  isFinal: boolean
}

/**
 * Checks schemas of callers and values against them. Short schemas are checked at once. Long schemas, schemas with patterns, and short schemas
 * that take long are checked in processes with limits of time and memory, where neither a schema nor a pattern can hold up the service. The
 * processes start with the first such schema.
 */
export function createCallerSchemas(): CallerSchemas & { close(): Promise<void> } {
  const compiledCode = getCompileCacheDir()
  const processes = createQuestionPool<SchemaQuestion, SchemaAnswer>({
    module: new URL('./worker', import.meta.url),
    env: compiledCode === undefined ? {} : { NODE_COMPILE_CACHE: compiledCode },
    limits: { dataKb: 700_000, heapMb: 192 },
    questionMs,
    idleMs,
    maxProcesses: 2,
    errorTexts: texts,
  })
  const never = new AbortController().signal
  let local: SchemaChecks | undefined
  /** By the use and the hash of the schema's text. */
  const results = new KeptChecks<KeptResult>()

  /** The result of a short check; undefined where it takes too long. */
  function tryLocally<T>(check: (checks: SchemaChecks) => T): { result: T } | undefined {
    local ??= createSchemaChecks({ compileMs: localMs, checkMs: localMs })
    try {
      return { result: check(local) }
    } catch (error) {
      if (error instanceof SchemaTimeout) return undefined
      throw error
    }
  }

  /** The answer of a process, or the reason why there is none, as a clause about the schema. */
  async function ask(question: SchemaQuestion, caller: Owner): Promise<SchemaAnswer> {
    try {
      return await processes.ask(question, never, caller)
    } catch (error) {
      const message = messageOf(error)
      if (error instanceof PoolBusy || message === texts.closed) throw new ServiceError('overloaded', message, { cause: error, retryAfter })
      return { error: message }
    }
  }

  async function check(use: SchemaUse, schema: JsonSchema, text: string, caller: Owner): Promise<KeptResult> {
    const done = isShort(text) ? tryLocally((checks) => checks.faultOf(use, schema)) : undefined
    if (done) return { fault: done.result, isSlow: false, isFinal: true }
    const answer = await ask({ use, schema: text }, caller)
    return { fault: 'fault' in answer ? answer.fault : { path: [], msg: reasonOf(answer) }, isSlow: true, isFinal: !('error' in answer) }
  }

  async function resultOf(use: SchemaUse, schema: JsonSchema, text: string, caller: Owner): Promise<KeptResult> {
    const key = `${use} ${hash('sha256', text)}`
    const kept = results.find(key)
    if (kept) return kept
    const result = await check(use, schema, text, caller)
    return result.isFinal ? results.keep(key, result, resultCharacters) : result
  }

  return {
    faultOf: async (use, schema, caller) => (await resultOf(use, schema, JSON.stringify(schema), caller)).fault,

    async faultsOf(use, schema, value, caller) {
      const text = JSON.stringify(schema)
      const result = await resultOf(use, schema, text, caller)
      if (result.fault) return [`the schema ${result.fault.msg}`]
      const done = result.isSlow ? undefined : tryLocally((checks) => checks.faultsOf(use, schema, value))
      if (done) return done.result
      result.isSlow = true
      const answer = await ask({ use, schema: text, value: JSON.stringify(value) }, caller)
      if ('faults' in answer) return answer.faults
      const subject = use === 'answer' ? 'value' : 'input'
      if ('isTimeout' in answer) return [`the ${subject} could not be checked within ${schemaLimits.checkMs} ms`]
      return [`the ${subject} could not be checked: the check ${reasonOf(answer)}`]
    },

    close: processes.close,
  }
}

/** Compiling a regular expression cannot be interrupted, and a short one may need seconds and gigabytes. */
function isShort(text: string): boolean {
  return text.length <= localCharacters && !text.includes('"pattern":') && !text.includes('"patternProperties":')
}

function reasonOf(answer: SchemaAnswer): string {
  return 'error' in answer ? answer.error : 'takes too long to compile'
}
