import { type Terminal, CommandFailure } from '../terminal.ts'
import { withoutControls } from './markdown-stream.ts'
import { ServiceRefusal, type Decision, type ServiceClient, type WaitingCall } from './service-client.ts'
import { isObject, parseJson } from '../../json/shape.ts'

/** The person at the terminal. */
export interface Person {
  /** Asks a question with `text` as the editable start of the reply; undefined if the input has ended or `signal` is aborted. */
  answer(question: string, signal: AbortSignal, text?: string): Promise<string | undefined>
}

interface WaitingCalls {
  request_id: string
  calls: WaitingCall[]
}

interface WaitingBudget {
  request_id: string
  budget: string
  resets_at?: string | undefined
}

interface DecisionContext {
  client: Pick<ServiceClient, 'decide'>
  person: Person
  stdout: Terminal['stdout']
  cancelled: AbortSignal
}

const approvalPrompt = 'approve? [y]es / [n]o [why] / [e]dit '
const questionPrompt = '[e]dit an answer / [y]es, with the defaults / [n]o '

/**
 * Asks a person to decide each waiting call; false if the person left. A decision rejected by the service is asked for again, unless the
 * refusal is final (the key lacks the permission, or the call is already decided): then the run continues without this person.
 */
export async function decideCalls({ request_id: requestId, calls }: WaitingCalls, deciding: DecisionContext): Promise<boolean> {
  const { client, stdout } = deciding
  for (const call of calls) {
    stdout.write(`? ${describe(call)}\n`)
    for (;;) {
      const decision = await decide(call, deciding)
      if (!decision) return false
      const refusal = await client.decide(requestId, decision).catch((error: unknown) => {
        if (!(error instanceof CommandFailure)) throw error
        return error
      })
      if (!refusal) break
      stdout.write(`${withoutControls(refusal.message)}\n`)
      if (!(refusal instanceof ServiceRefusal) || !isFinal(refusal.status)) continue
      if (refusal.status === 403) stdout.write('The answer continues once the call is decided; Ctrl-C cancels the answer.\n')
      break
    }
  }
  return true
}

/** Asks for a decision on one call; undefined if the person left. */
async function decide(
  { tool_call_id, tool_input: input }: WaitingCall,
  { person, stdout, cancelled }: DecisionContext,
): Promise<Decision | undefined> {
  const question = isQuestion(tool_call_id)
  for (;;) {
    const reply = (await person.answer(question ? questionPrompt : approvalPrompt, cancelled))?.trim()
    if (reply === undefined) return undefined
    const [, word = '', rest = ''] = /^(\p{L}*)[\s:,]*(.*)$/su.exec(reply) ?? []
    const choice = word.toLowerCase()
    if (isShortFor('no', choice)) return { tool_call_id, decision: 'reject', ...(rest !== '' && { reason: rest }) }
    if (rest !== '') continue
    if (isShortFor('yes', choice)) return { tool_call_id, decision: 'approve' }
    if (!isShortFor('edit', choice)) continue
    const text = await person.answer(
      question ? 'answer: ' : 'input: ',
      cancelled,
      JSON.stringify(question ? toAnswerDraft(Object(input)) : input),
    )
    if (text === undefined) return undefined
    const edited = parse(text)
    if (edited !== undefined) return { tool_call_id, decision: 'approve', tool_input: edited }
    stdout.write('The input must be a JSON object.\n')
  }
}

/** True for a question of an MCP server, whose id has a colon. Its input has `question` and `answer_schema` or `url`. */
function isQuestion(callId: string): boolean {
  return callId.includes(':')
}

/** An answer with the defaults of its schema, and null for other members, to be filled in. */
function toAnswerDraft({ answer_schema: schema }: Record<string, unknown>): Record<string, unknown> {
  const { properties = {} } = Object(schema) as { properties?: Record<string, { default?: unknown }> }
  return Object.fromEntries(Object.entries(properties).map(([name, property]) => [name, property.default ?? null]))
}

/** True for refusals that a second attempt would get again. */
function isFinal(status: number): boolean {
  return status === 403 || status === 404 || status === 409 || status === 410
}

/** True for `y`, `ye` and `yes` as short forms of `yes`. */
function isShortFor(word: string, input: string): boolean {
  return input !== '' && word.startsWith(input)
}

function parse(text: string): Record<string, unknown> | undefined {
  const value = parseJson(text)
  return isObject(value) ? value : undefined
}

/** Shows the input of a call in full, because the person approves all of it. */
function describe({ tool, tool_input: input }: WaitingCall): string {
  const text = withoutControls(`${tool} ${JSON.stringify(input, undefined, 2)}`)
  // Invisible characters could make the input look different.
  return text.replace(/[\p{Cf}\u2028\u2029]/gu, (mark) => `\\u${mark.codePointAt(0)!.toString(16).padStart(4, '0')}`)
}

/** Instructions for deciding the calls without this terminal. */
export function howToDecide({ request_id: requestId, calls }: WaitingCalls): string {
  const body = (call: WaitingCall) => JSON.stringify({ tool_call_id: call.tool_call_id, decision: 'approve' })
  const lines = calls.map((call) => `${call.tool} ${JSON.stringify(call.tool_input)} waits for approval: ${body(call)}`)
  return [
    ...lines,
    `Send such a decision, "approve" or "reject", to POST /core/v1/runs/${requestId}/approvals, or chat in a terminal.`,
  ].join('\n')
}

/** Instructions for a run that a budget has paused. */
export function howToExtend({ request_id: requestId, budget, resets_at: resets }: WaitingBudget): string {
  return [
    `The answer waits, because budget ${budget} is used up${resets === undefined ? '' : ` until ${resets}`}.`,
    `A person with the permission budgets.write raises its limit with POST /core/v1/runs/${requestId}/approvals: {"decision":"extend","limit":{"usd":1}}`,
  ].join('\n')
}
