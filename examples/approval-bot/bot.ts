import { createInterface } from 'node:readline/promises'
import { setTimeout as wait } from 'node:timers/promises'
import { AgentCoreError, createClient, type WaitingCall } from 'agent-core/client'
import { judge, type Verdict } from './rules.ts'

const client = createClient({
  baseUrl: process.env.AGENT_CORE_URL ?? 'http://127.0.0.1:8080',
  accessKey: process.env.AGENT_CORE_KEY,
})
const isOnce = process.argv.includes('--once')
const stop = new AbortController()
process.once('SIGINT', () => stop.abort())

/** Calls left to a person who is not here. */
const postponed = new Set<string>()

/** Prints a call with its context. JSON keeps control characters of the model away from the terminal. */
function show({ tool, tool_input, requested_by, question, expires_at }: WaitingCall): void {
  console.log(`\n${requested_by} asked: ${JSON.stringify(question)}`)
  console.log(`${tool} ${JSON.stringify(tool_input)}`)
  console.log(`waits until ${expires_at}`)
}

/** Asks at the terminal; undefined without a terminal, and for any other answer than yes or no. */
async function askPerson(): Promise<Verdict | undefined> {
  if (!process.stdin.isTTY) return undefined
  const terminal = createInterface({ input: process.stdin, output: process.stdout })
  terminal.once('SIGINT', () => stop.abort())
  try {
    const answer = await terminal.question('Approve? y, or n and a reason: ', { signal: stop.signal })
    const [, word, reason = ''] = /^\s*(y|yes|n|no)\b[\s,:]*(.*)$/i.exec(answer) ?? []
    return word ? { decision: /^y/i.test(word) ? 'approve' : 'reject', reason } : undefined
  } catch (error) {
    if (!stop.signal.aborted) throw error
    return undefined
  } finally {
    terminal.close()
  }
}

async function decide(call: WaitingCall): Promise<void> {
  show(call)
  const rule = judge(call)
  const verdict = rule ?? (await askPerson())
  if (!verdict) {
    postponed.add(call.tool_call_id)
    console.log('=> left to a person')
    return
  }
  const { decision, reason } = verdict
  // The agent reads the reason of a rejection, and may choose another way.
  const body = { tool_call_id: call.tool_call_id, decision, ...(decision === 'reject' && reason && { reason }) }
  try {
    await client.approvals.decide(call.request_id, body)
    console.log(`=> ${decision}${reason && `: ${reason}`}`)
  } catch (error) {
    // Another approver was faster, or the run has ended.
    if (!(error instanceof AgentCoreError && [404, 409, 410].includes(error.status))) throw error
    console.log(`=> ${error.message}`)
  }
}

/** Decides the calls that wait now. While the service restarts, the next round tries again. */
async function decideAll(): Promise<void> {
  try {
    for await (const call of client.approvals.all()) {
      if (stop.signal.aborted) return
      if (call.may_decide && !postponed.has(call.tool_call_id)) await decide(call)
    }
  } catch (error) {
    const isPassing = error instanceof AgentCoreError && [0, 429, 503].includes(error.status)
    if (isOnce || !isPassing) throw error
    console.error(error.message)
  }
}

while (!stop.signal.aborted) {
  await decideAll()
  if (isOnce) break
  await wait(2000, undefined, { signal: stop.signal }).catch(() => {})
}
