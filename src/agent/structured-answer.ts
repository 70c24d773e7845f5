import type { EndReason, LoopEnd } from './events.ts'
import { isRepair } from './history.ts'
import { deliverWaiting, isQuestion, isSteer } from './inbox.ts'
import type { Message } from './messages.ts'
import type { AnswerSchema, Loop, Workflow } from './options.ts'

const heading = '# The form of the final answer'

/** Appended to the system prompt where the reply may be the answer. */
export function schemaInstructions({ schema }: AnswerSchema): string {
  return `${heading}
Your final answer is read by a program. It must be one JSON value that is valid against the JSON Schema below, and nothing else: no Markdown, no code fence, no text before or behind it. Call tools first where you need them.
${JSON.stringify(schema)}`
}

/** The instruction to answer again. */
function askForRepair(fault: string): string {
  return `Your answer is not valid: ${fault}. Answer again with the corrected JSON value alone: no Markdown, no code fence, no other text.`
}

/**
 * Works until an answer. While the answer does not fit the schema of the run, the model is asked to correct it, without tools, up to
 * `maxRepairs` times; each repair begins with a `retrying` event. The repairs are in the transcript, so that another process can go on with
 * them. Repairs do not count as iterations: a run with a single iteration has repairs too. A message of a person that arrives in a repair is
 * answered next, as behind any answer, and this answer has repairs of its own.
 */
export async function answerInSchema(loop: Loop, schema: AnswerSchema, workflow: Workflow, takeTurn: TakeTurn): Promise<EndReason> {
  const { options, emit, answer } = loop
  const { messages } = options
  const answerAgain = async () => (await takeTurn(loop, { label: 'answer', mayCall: false })).finish
  // A run that failed and is repeated begins with its last answer, and gets new repairs.
  let repairs = isRepair(messages.at(-1)) ? countRepairs(messages) : 0
  let reason = await (repairs > 0 ? answerAgain() : workflow(loop))
  while (reason !== 'content_filter') {
    if (options.inbox?.isWaiting && (await deliverWaiting(loop))) {
      repairs = 0
      reason = await workflow(loop)
      continue
    }
    const fault = repairs < schema.maxRepairs ? await schema.faultOf(answer.best) : undefined
    if (fault === undefined) break
    repairs++
    // The answer so far is void, and never the best answer of a run that ends meanwhile.
    answer.replaceBest('')
    void emit({ type: 'retrying' })
    const message = { role: 'user' as const, text: askForRepair(fault), instruction: 'repair' as const }
    messages.push(message)
    await emit({ type: 'instruction', message })
    reason = await answerAgain()
  }
  return reason
}

/** Makes one model call of a loop. */
type TakeTurn = (loop: Loop, options: { label: 'answer'; mayCall: boolean }) => Promise<{ finish: EndReason }>

/** The end of a loop whose answer has a schema. A cancelled run needs no answer. */
export async function endInSchema(schema: AnswerSchema, reason: EndReason, { options, answer }: Loop): Promise<LoopEnd> {
  if (reason === 'cancelled') return { reason }
  const text = answer.best || options.messages.findLast((message) => message.role === 'assistant')?.text || ''
  const fault = await schema.faultOf(text)
  if (fault === undefined) return { reason, structured: true }
  const cause = reason === 'timeout' || reason === 'content_filter' ? { cause: reason } : {}
  return { reason: 'schema_mismatch', mismatch: { text, fault, ...cause } }
}

/** Number of repairs since the request, or the last message of a person. */
function countRepairs(messages: readonly Message[]): number {
  const request = messages.findLastIndex((message) => isQuestion(message) || isSteer(message))
  return messages.slice(request + 1).filter(isRepair).length
}

/**
 * Takes the Markdown fence off a text that arrives in pieces: models put JSON into a fence even where they are asked not to. A fence counts
 * only where the text begins with it. Blanks at the beginning are taken off too.
 */
export class CodeFence {
  /** The text without the fence. */
  text = ''
  private state: 'before' | 'plain' | 'fenced' = 'before'
  private held = ''

  /** Accepts a piece, and returns what is known to belong to the text; empty while that is open. */
  take(piece: string): string {
    if (this.state === 'plain') return this.release(piece)
    this.held += piece
    if (this.state === 'before') this.begin()
    if (this.state === 'before') return ''
    const keeps = this.state === 'fenced' ? this.held.length - endOfText(this.held) : 0
    return this.release(this.takeHeld(this.held.length - keeps))
  }

  /** Ends the text, and returns its rest. */
  end(): string {
    const rest = this.takeHeld(this.held.length)
    return this.release(this.state === 'fenced' ? rest.slice(0, endOfText(rest)) : rest)
  }

  private begin(): void {
    this.held = this.held.trimStart()
    const opening = /^```[^\n`]*\n/.exec(this.held)
    if (opening) {
      this.held = this.held.slice(opening[0].length)
      this.state = 'fenced'
    } else if (this.held !== '' && !isStartOfFence(this.held)) this.state = 'plain'
  }

  private takeHeld(length: number): string {
    const text = this.held.slice(0, length)
    this.held = this.held.slice(length)
    return text
  }

  private release(text: string): string {
    this.text += text
    return text
  }
}

/** The first line of a fence, as far as it has arrived. The names of languages are short. */
const startOfFence = /^`{1,3}$|^```[^\n`]{0,40}$/

function isStartOfFence(text: string): boolean {
  return startOfFence.test(text)
}

/** Characters that may be held back: a model that writes blanks without end is read on. */
const maxHeld = 200

/** Where the part begins that may be the closing fence. */
function endOfText(text: string): number {
  let at = text.length
  const back = (isPart: (character: string) => boolean, most: number) => {
    for (let count = 0; count < most && at > 0 && isPart(text[at - 1]!); count++) at--
  }
  back(isBlank, maxHeld)
  back((character) => character === '`', 3)
  back(isBlank, maxHeld)
  return at
}

function isBlank(character: string): boolean {
  return character === ' ' || character === '\n' || character === '\r' || character === '\t'
}
