import type { Terminal } from '../terminal.ts'
import { CommandFailure } from '../terminal.ts'
import { withoutControls } from './markdown-stream.ts'
import { ServiceRefusal, type Decision, type ServiceClient, type WaitingCall } from './service-client.ts'

/** Somebody at a terminal. */
export interface Person {
  /** What is answered to a question, which may begin with `text`; undefined where nobody answers any more. */
  answer(question: string, signal: AbortSignal, text?: string): Promise<string | undefined>
}

interface Waiting {
  request_id: string
  calls: WaitingCall[]
}

export interface Deciding {
  client: Pick<ServiceClient, 'decide'>
  person: Person
  stdout: Terminal['stdout']
  cancelled: AbortSignal
}

const question = 'approve? [y]es / [n]o [why] / [e]dit '

/**
 * Has a person decide each call that waits; false where they did not. What the service does not take is asked for again, unless the call is
 * not for this person to decide, or is decided: then the run goes on without them.
 */
export async function decideCalls({ request_id: requestId, calls }: Waiting, deciding: Deciding): Promise<boolean> {
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
      if (refusal.status === 403) stdout.write('The answer goes on when that is decided; Ctrl-C cancels it.\n')
      break
    }
  }
  return true
}

/** Undefined where nobody answers. */
async function decide(
  { tool_call_id, tool_input: input }: WaitingCall,
  { person, stdout, cancelled }: Deciding,
): Promise<Decision | undefined> {
  for (;;) {
    const said = (await person.answer(question, cancelled))?.trim()
    if (said === undefined) return undefined
    const [, word = '', rest = ''] = /^(\p{L}*)[\s:,]*(.*)$/su.exec(said) ?? []
    const meant = word.toLowerCase()
    if (isShortFor('no', meant)) return { tool_call_id, decision: 'reject', ...(rest !== '' && { reason: rest }) }
    if (rest !== '') continue
    if (isShortFor('yes', meant)) return { tool_call_id, decision: 'approve' }
    if (!isShortFor('edit', meant)) continue
    const text = await person.answer('input: ', cancelled, JSON.stringify(input))
    if (text === undefined) return undefined
    const edited = parse(text)
    if (edited !== undefined) return { tool_call_id, decision: 'approve', tool_input: edited }
    stdout.write('That is no JSON object.\n')
  }
}

/** Of a refusal: whoever asks again hears the same. */
function isFinal(status: number): boolean {
  return status === 403 || status === 404 || status === 409 || status === 410
}

/** `y`, `ye`, `yes`. */
function isShortFor(word: string, said: string): boolean {
  return said !== '' && word.startsWith(said)
}

function parse(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** What is approved is shown whole. */
function describe({ tool, tool_input: input }: WaitingCall): string {
  const text = withoutControls(`${tool} ${JSON.stringify(input, undefined, 2)}`)
  // Marks that nobody sees could let it look like another.
  return text.replace(/[\p{Cf}\u2028\u2029]/gu, (mark) => `\\u${mark.codePointAt(0)!.toString(16).padStart(4, '0')}`)
}

/** For who can't be asked here. */
export function howToDecide({ request_id: requestId, calls }: Waiting): string {
  const body = (call: WaitingCall) => JSON.stringify({ tool_call_id: call.tool_call_id, decision: 'approve' })
  const lines = calls.map((call) => `${call.tool} ${JSON.stringify(call.tool_input)} waits for approval: ${body(call)}`)
  return [
    ...lines,
    `Send such a decision, "approve" or "reject", to POST /core/v1/runs/${requestId}/approvals, or chat in a terminal.`,
  ].join('\n')
}
