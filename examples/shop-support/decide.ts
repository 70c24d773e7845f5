import { createClient } from 'agent-core/client'

// What a colleague does: `node decide.ts` lists the calls that wait, `approve` and `reject REASON` decide the oldest.
const [decision, reason] = process.argv.slice(2)

const client = createClient({ baseUrl: process.env.AGENT_CORE_URL ?? 'http://127.0.0.1:8080', accessKey: process.env.SUPPORT_KEY })

const waiting = await Array.fromAsync(client.approvals.all())
for (const { tool, tool_input, question } of waiting) console.log(`${tool} ${JSON.stringify(tool_input)} for ${JSON.stringify(question)}`)

const oldest = waiting.at(-1)
if (!oldest) console.log('Nothing waits.')
else if (decision === 'approve' || decision === 'reject') {
  const { request_id, tool_call_id } = oldest
  await client.approvals.decide(request_id, { tool_call_id, decision, ...(decision === 'reject' && { reason }) })
  console.log(`=> ${decision}`)
}
