/** What `agent-core tool new` writes: a tool that works as it is, to be changed into another. */
export function toolTemplate(): string {
  return `import { defineTool } from 'agent-core'

// A tool of the agent. Save this file while the service runs: the next chat uses what you saved.
// "agent-core tool check" tells what is wrong with it, without a service.
export default defineTool({
  // What the model is told. It decides by this alone when to use the tool.
  description: 'Counts the working days (Monday to Friday) from one date to another, both included.',
  // JSON Schema of the input. What does not fit it never reaches execute.
  schema: {
    type: 'object',
    properties: {
      from: { type: 'string', pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}$', description: 'The first day, such as 2026-01-31.' },
      to: { type: 'string', pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}$', description: 'The last day.' },
    },
    required: ['from', 'to'],
    additionalProperties: false,
  },
  // 'read': may be called again after a crash, and beside other calls. 'write': changes something, so it is called at most once.
  effect: 'read',
  // Gives anything that JSON can say. A throw is told to the model, which may try again with another input.
  // The context has signal, headers, filters, log, artifact, callId and session.
  async execute({ from, to }, { log }) {
    const day = 24 * 60 * 60 * 1000
    const [first, last] = [Date.parse(from), Date.parse(to)]
    if (Number.isNaN(first) || Number.isNaN(last)) throw new Error('There is no such date.')
    if (first > last) throw new Error('The first day is after the last one.')
    const days = (last - first) / day + 1
    if (days > 36_600) throw new Error('That is more than a hundred years.')
    let working_days = 0
    for (let time = first; time <= last; time += day) if (![0, 6].includes(new Date(time).getUTCDay())) working_days++
    log(\`looked at \${days} days\`)
    return { days, working_days }
  },
})
`
}

/** An input of the template's tool. */
export const templateInput = { from: '2026-01-01', to: '2026-01-31' }

/** For editors: where they find the types of this package, and how Node reads TypeScript. */
export function editorSettings(types: string): string {
  const compilerOptions = {
    ...{ target: 'es2024', module: 'nodenext', noEmit: true, strict: true, skipLibCheck: true },
    ...{ erasableSyntaxOnly: true, allowImportingTsExtensions: true },
    paths: { 'agent-core': [types] },
  }
  return `${JSON.stringify({ compilerOptions }, undefined, 2)}\n`
}
