import { StringOutputParser } from '@langchain/core/output_parsers'
import { ChatPromptTemplate } from '@langchain/core/prompts'
import { ChatOpenAI } from '@langchain/openai'

const agent = new ChatOpenAI({
  model: 'agent-core',
  apiKey: process.env.AGENT_CORE_KEY,
  configuration: { baseURL: `${process.env.AGENT_CORE_URL ?? 'http://127.0.0.1:8080'}/v1` },
})

/** A chain whose model is the agent, with its own tools, files and memory. */
const chain = ChatPromptTemplate.fromMessages([['human', 'How many units were sold in the {region} region?']])
  .pipe(agent)
  .pipe(new StringOutputParser())

console.log('One input, streamed:')
for await (const text of await chain.stream({ region: 'North' })) process.stdout.write(text)

console.log('\n\nThree inputs, two at a time:')
const regions = ['East', 'South', 'West']
const answers = await chain.batch(
  regions.map((region) => ({ region })),
  { maxConcurrency: 2 },
)
for (const answer of answers) console.log(answer)

console.log('\nA conversation:')
const reply = await agent.invoke([
  ['human', 'What is 17% of 2,340?'],
  ['ai', '17% of 2,340 is 397.8.'],
  ['human', 'And 20%?'],
])
console.log(reply.text, `(${reply.usage_metadata?.total_tokens} tokens)`)
