import { randomBytes } from 'node:crypto'
import { startModelServer, type ModelAnswer, type ModelServerRequest } from '../../test/fixtures/model-server.ts'

/** Part that pages may ask for, shared by the pages that do. */
interface Part {
  /** Variables for the service and the commands of one page. */
  prepare(): Promise<Record<string, string>>
  end(): Promise<void>
}

const starts: Record<string, () => Promise<Part>> = {
  async postgres() {
    const { startPostgres } = await import('../../test/fixtures/postgres-server.ts')
    const server = await startPostgres()
    const secret = randomBytes(32).toString('hex')
    return { prepare: async () => ({ DATABASE_URL: await server.createDatabase(), SECRET_KEY: secret }), end: server.stop }
  },
  async s3() {
    const { startS3 } = await import('../../test/fixtures/s3-server.ts')
    const server = await startS3()
    return { prepare: async () => server.environment, end: server.close }
  },
  async model() {
    const server = await startModelServer(answerAsModel)
    return { prepare: async () => ({ MODEL_URL: server.url, MODEL_API_KEY: 'sk-local' }), end: server.close }
  },
}

export interface Needs {
  prepare(names: string[]): Promise<Record<string, string>>
  end(): Promise<void>
}

/** Starts each part when the first page asks for it. */
export function createNeeds(): Needs {
  const running = new Map<string, Promise<Part>>()
  async function prepare(name: string): Promise<Record<string, string>> {
    const start = starts[name]
    if (!start) throw new Error(`The page needs "${name}". Known parts: ${Object.keys(starts).join(', ')}.`)
    if (!running.has(name)) running.set(name, start())
    return (await running.get(name)!).prepare()
  }
  return {
    async prepare(names) {
      return Object.assign({}, ...(await Promise.all(names.map(prepare)))) as Record<string, string>
    },
    async end() {
      await Promise.all([...running.values()].map(async (part) => (await part).end()))
    },
  }
}

/**
 * A model on the chat-completions wire, with embeddings: the model asks the table `sales` where it is offered and the question is about sales,
 * refunds orders as often as the instructions say, and else answers.
 */
function answerAsModel({ body, headers, url }: ModelServerRequest): ModelAnswer {
  if (headers.authorization !== 'Bearer sk-local') return { status: 401, body: { error: { message: 'Incorrect API key provided.' } } }
  if (url.endsWith('/embeddings')) return { body: toEmbeddings(body.input as string[]) }
  const messages = body.messages as { role: string; content: unknown }[]
  const usage = { input: 412, output: 9 }
  const offered = body.tools as { function: { name: string } }[] | undefined
  if (offered?.some((tool) => tool.function.name === 'refund')) return { ...refund(messages), usage }
  const isOffered = offered?.some((tool) => tool.function.name === 'sales')
  const last = messages.at(-1)!
  if (JSON.stringify(last.content).includes('"image_url"')) return { text: ['The pictures show ', 'a chat.'], usage }
  if (last.role === 'tool') return { text: ['South sold ', 'the most.'], usage }
  if (isOffered && /sales/i.test(JSON.stringify(last.content))) {
    const sql = 'SELECT region, sum(amount) AS amount FROM sales GROUP BY region ORDER BY amount DESC'
    return { calls: [{ name: 'sales', arguments: JSON.stringify({ sql }) }], usage }
  }
  return { text: ['Paris is the capital', ' of France.'], usage }
}

function refund(messages: readonly { role: string; content: unknown }[]): ModelAnswer {
  const question = messages.findLastIndex(({ role }) => role === 'user')
  const order = Number(/\d+/.exec(JSON.stringify(messages[question]?.content))?.[0] ?? 0)
  const isTwice = messages.some(({ role, content }) => role === 'system' && JSON.stringify(content).includes('call the tool twice'))
  const isDone = messages.slice(question).filter(({ role }) => role === 'tool').length >= (isTwice ? 2 : 1)
  return isDone ? { text: `Order ${order} is refunded.` } : { calls: [{ name: 'refund', arguments: JSON.stringify({ order }) }] }
}

function toEmbeddings(texts: readonly string[]): object {
  const data = texts.map((text, index) => ({ index, embedding: [text.length / 100, 0.5, -0.25] }))
  return { data, usage: { prompt_tokens: texts.length * 3 } }
}
