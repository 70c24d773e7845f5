import { randomUUID } from 'node:crypto'
import { AgentCoreError, createClient } from 'agent-core/client'

const client = createClient({
  baseUrl: process.env.AGENT_CORE_URL ?? 'http://127.0.0.1:8080',
  accessKey: process.env.AGENT_CORE_KEY,
})

/** Streams the answer to the terminal, with the files that tools made. Questions of one session can refer to earlier ones. */
async function ask(sessionId: string, question: string): Promise<void> {
  console.log(`> ${question}`)
  for await (const chunk of client.stream({ messages: [{ role: 'user', content: question }] }, { sessionId })) {
    if (chunk.step?.type === 'tool_call') console.log(`[${chunk.step.tool}: ${chunk.step.status}]`)
    if (chunk.agent_step === 'answer') process.stdout.write(chunk.token)
    if (chunk.error) throw new Error(`The run failed: ${chunk.error.body}`)
    for (const { file_name, download_url } of chunk.generated_artifacts ?? []) {
      if (download_url) console.log(`\n${file_name}: ${await (await fetch(download_url)).text()}`)
    }
  }
  console.log('\n')
}

try {
  const sessionId = randomUUID()
  await ask(sessionId, 'What were the total sales by region?')
  await ask(sessionId, 'And only for the North?')
  await ask(sessionId, 'Write "Back at 3" to a file note.txt')
  await ask(sessionId, 'yes')

  // The service keeps the conversation.
  const { short_name, messages } = await client.sessions.get(sessionId)
  console.log(`${messages.length} messages in "${short_name}"`)
} catch (error) {
  if (!(error instanceof AgentCoreError)) throw error
  console.error(`${error.errorType}: ${error.message}`)
  process.exitCode = 1
}
