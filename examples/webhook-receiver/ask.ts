import { createClient } from 'agent-core/client'

const client = createClient({
  baseUrl: process.env.AGENT_CORE_URL ?? 'http://127.0.0.1:8080',
  accessKey: process.env.AGENT_CORE_KEY,
})
const [question = 'What were the total sales by region?', eventId] = process.argv.slice(2)

// Source and event id name the event: sent twice, it is answered once.
const accepted = await client.async(
  { messages: [{ role: 'user', content: question }] },
  { url: process.env.CALLBACK_URL ?? 'http://127.0.0.1:9000', source: 'urn:example:webhook-receiver', eventId },
)
console.log(`${accepted.id} is ${accepted.status}.`)
