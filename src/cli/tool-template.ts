/** What `agent-core tool new` writes: a tool that works as it is, to be changed into another. */
export const toolTemplate = `import { defineTool } from 'agent-core'

// A tool of the agent. Save this file while the service runs: the next chat uses what you saved.
// Without a service, "agent-core tool check" tells what is wrong with it, and tries it.
export default defineTool({
  // What the model is told. It decides by this alone when to use the tool.
  description: 'Tells on which weekday a date falls, and how many days from today it is (negative: ago).',
  // JSON Schema of the input. What does not fit never reaches execute.
  schema: {
    type: 'object',
    properties: {
      date: { type: 'string', pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}$', description: 'Such as 2026-01-31.' },
    },
    required: ['date'],
    additionalProperties: false,
  },
  // 'read': may be called again after a crash, and beside other calls. 'write': changes something, so it is called at most once.
  effect: 'read',
  // Gives anything that JSON can say. A throw is told to the model, which may try again with another input.
  // Of the context there are signal, headers, filters, log, artifact, callId and session.
  async execute({ date }, { log }) {
    const day = Date.parse(date)
    if (new Date(day).getUTCDate() !== Number(date.slice(8))) throw new Error('There is no such date.')
    const today = new Date().toISOString().slice(0, 10)
    log('today is ' + today)
    const weekday = new Intl.DateTimeFormat('en', { weekday: 'long', timeZone: 'UTC' }).format(day)
    return { date, weekday, days_from_today: (day - Date.parse(today)) / 86_400_000 }
  },
})
`

/** An input of the template's tool. */
export const templateInput = { date: '2026-12-24' }

/** For editors: where they find the types of this package (and of Node, where they are installed), and how Node reads TypeScript. */
export function editorSettings(types: string, nodeTypes: string | undefined): string {
  const compilerOptions = {
    ...{ target: 'es2024', module: 'nodenext', noEmit: true, strict: true, skipLibCheck: true },
    ...{ erasableSyntaxOnly: true, allowImportingTsExtensions: true },
    ...(nodeTypes !== undefined && { typeRoots: [nodeTypes], types: ['node'] }),
    paths: { 'agent-core': [types] },
  }
  return `${JSON.stringify({ compilerOptions }, undefined, 2)}\n`
}
