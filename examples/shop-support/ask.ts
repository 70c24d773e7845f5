import { createClient } from 'agent-core/client'

// What the website does with a question of a customer who is signed in. The customer's name comes from the website's session, never from the question.
const [customer, question] = process.argv.slice(2)
if (!customer || !question) throw new Error('Usage: node ask.ts CUSTOMER QUESTION')

const client = createClient({ baseUrl: process.env.AGENT_CORE_URL ?? 'http://127.0.0.1:8080', accessKey: process.env.WEBSITE_KEY })

const stream = client.stream(
  {
    messages: [{ role: 'user', content: question }],
    // The table has only the rows of this customer, whatever SQL the model writes.
    data_filter_hints: [{ tool_name: 'orders', filter_key: 'customer', filter_type: 'equals', filter_value: customer }],
  },
  // Headers that begin with stix reach the shop's service; the model can neither read nor change them.
  { headers: { 'stix-customer': customer }, throughApprovals: true },
)
for await (const chunk of stream) {
  if (chunk.step?.type === 'tool_call') console.log(`[${chunk.step.tool}: ${chunk.step.status}]`)
  if (chunk.approval_required) console.log('[a colleague decides about this]')
  if (chunk.agent_step === 'answer') process.stdout.write(chunk.token)
  if (chunk.error) throw new Error(`The run failed: ${chunk.error.body}`)
}
console.log()
