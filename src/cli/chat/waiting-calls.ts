import type { Terminal } from '../terminal.ts'
import { decideCalls, howToDecide, type Person } from './approvals.ts'
import { withoutControls } from './markdown-stream.ts'
import type { ListedCall, ServiceClient } from './service-client.ts'

interface WaitingCallsContext {
  client: Pick<ServiceClient, 'waitingCalls' | 'decide'>
  /** Undefined if no person can be asked. */
  person: Person | undefined
  stdout: Terminal['stdout']
  /** Aborted when the person at the terminal leaves the list. */
  cancelled: AbortSignal
}

/** Lists the calls that wait for approval, and asks the person to decide each call that the key permits to decide. */
export async function decideWaiting({ client, person, stdout, cancelled }: WaitingCallsContext): Promise<void> {
  const calls = await client.waitingCalls()
  if (calls.length === 0) stdout.write('No call waits for approval.\n')
  for (const call of calls) {
    for (const line of contextLines(call)) stdout.write(`${withoutControls(line)}\n`)
    const waiting = { request_id: call.request_id, calls: [call] }
    if (!call.may_decide) stdout.write(`${withoutControls(JSON.stringify(call.tool_input))}\nThis key may not decide this call.\n`)
    else if (!person) stdout.write(`${withoutControls(howToDecide(waiting))}\n`)
    else if (!(await decideCalls(waiting, { client, person, stdout, cancelled }))) return
  }
}

/** Longer messages are cut. The call, which the person decides, is shown in full. */
const maxLine = 300

function contextLines({ tool, requested_by: caller, session_id: session, messages = [] }: ListedCall): string[] {
  const messageLines = messages.map(({ role, content }) => {
    const text = content.replace(/\s+/g, ' ')
    return `  ${role}: ${text.length > maxLine ? `${text.slice(0, maxLine)}…` : text}`
  })
  return [`${caller} waits in session ${session} for the approval of a call of ${tool}.`, ...messageLines]
}
