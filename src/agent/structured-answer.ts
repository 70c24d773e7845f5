import { askForRepair, countRepairs, isRepair, type AnswerSchema } from './answer-schema.ts'
import type { AgentEvent, EndReason } from './events.ts'
import { askModel } from './ask-model.ts'
import type { Loop } from './loop.ts'

/**
 * Drives `work` to an answer. While the answer does not fit the schema of the run, the model is asked to correct it, without tools, up to
 * `maxRepairs` times; each repair begins with a `retrying` event. The repairs are in the transcript, so that another process can go on with
 * them. A run without a schema is `work` alone.
 */
export function inSchema(loop: Loop, work: AsyncGenerator<AgentEvent, EndReason>): AsyncGenerator<AgentEvent, EndReason> {
  const { answerSchema } = loop.options
  return answerSchema ? withRepairs(loop, answerSchema, work) : work
}

async function* withRepairs(
  loop: Loop,
  schema: AnswerSchema,
  work: AsyncGenerator<AgentEvent, EndReason>,
): AsyncGenerator<AgentEvent, EndReason> {
  const { options, answer } = loop
  const { messages } = options
  // A run that failed and is repeated begins with its last answer, and gets new repairs.
  let repairs = isRepair(messages.at(-1)) ? countRepairs(messages) : 0
  let reason = repairs > 0 ? yield* answerAgain(loop) : yield* work
  while (reason !== 'content_filter' && repairs < schema.maxRepairs) {
    const fault = await schema.faultOf(answer.best)
    if (fault === undefined) break
    repairs++
    // The answer so far is void, and never the best answer of a run that ends meanwhile.
    answer.replaceBest('')
    yield { type: 'retrying' }
    const message = { role: 'user' as const, text: askForRepair(fault), instruction: 'repair' as const }
    messages.push(message)
    yield { type: 'instruction', message }
    reason = yield* answerAgain(loop)
  }
  return reason
}

/** Repairs do not count as iterations: a run with a single iteration has repairs too. */
async function* answerAgain({ options, answer }: Loop): AsyncGenerator<AgentEvent, EndReason> {
  return (yield* askModel(options, answer, { label: 'answer', mayCall: false })).finish
}
