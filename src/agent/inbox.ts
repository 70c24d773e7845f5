import type { Loop } from './options.ts'
import type { Message, Steer, UserMessage } from './messages.ts'

/**
 * Appends the messages that wait to the transcript, in order, and emits each as `user_message`. Called between the results of all calls and
 * the next model call. False where none waits.
 */
async function deliver(loop: Loop): Promise<boolean> {
  const { options, answer, emit } = loop
  // Messages to a stopped run begin the next run.
  const steers = options.signal.aborted ? [] : ((await options.takeMessages?.()) ?? [])
  if (steers.length > 0 && loop.callsMade >= options.maxIterations) loop.callLimit = options.maxIterations + 1
  for (const { text, ...steer } of steers) {
    // What the model has answered before is not the answer any more.
    answer.isStale = true
    options.messages.push({ role: 'user', text, steer })
    await emit({ type: 'user_message', ...steer, text, at: options.now() })
  }
  return steers.length > 0
}

/** Delivers the messages that may be delivered. Out of model calls, a run makes one more for messages, and leaves later messages to the next run. */
export async function deliverWaiting(loop: Loop): Promise<boolean> {
  return loop.callsMade <= loop.options.maxIterations && deliver(loop)
}

/** True when a message has not been answered by the model yet. */
export function isUnanswered(messages: readonly Message[]): boolean {
  return isSteer(messages.findLast((message) => message.role === 'assistant' || isSteer(message)))
}

/** True for a message that a person has sent to the running agent. */
export function isSteer(message: Message | undefined): message is UserMessage & { steer: Steer } {
  return message?.role === 'user' && message.steer !== undefined
}

/** True for the message that began the run or an earlier turn; false for instructions of the loop, and messages to the running agent. */
export function isQuestion(message: Message): boolean {
  return message.role === 'user' && message.instruction === undefined && message.steer === undefined
}
