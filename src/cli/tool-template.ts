/** What `agent-core tool new` writes: a tool that works as it is, to be changed into another. */
export const toolTemplate = `import { defineTool } from 'agent-core'

// A tool of the agent. Save this file while the service runs: the next chat uses what you saved.
// Without a service, "agent-core tool check" tells what is wrong with it, and tries it.
export default defineTool({
  // What the model is told. It decides by this alone when to use the tool.
  description: 'Repeats a text. Say here what the tool does, and when it is to be used.',
  // JSON Schema of the input. What does not fit never reaches execute.
  schema: {
    type: 'object',
    properties: {
      text: { type: 'string', minLength: 1, description: 'What to repeat.' },
    },
    required: ['text'],
    additionalProperties: false,
  },
  // 'read': may be called again after a crash, and beside other calls. 'write': changes something, so it is called at most once.
  effect: 'read',
  // Gives anything that JSON can say. A throw is told to the model, which may try again with another input.
  // Of the context there are signal, headers, filters, log, artifact, callId and session.
  async execute({ text }, { log }) {
    log('A log line of ' + text.length + ' characters of input.')
    return { text }
  },
})
`

/** An input of the template's tool. */
export const templateInput = { text: 'hello' }

/**
 * For editors: where they find the types of this package (and of Node, where they are installed), and how Node reads TypeScript. Paths are
 * relative to the folder of the file, so that the file can be committed.
 */
export function editorSettings(types: string, nodeTypes: string | undefined): string {
  const compilerOptions = {
    target: 'es2024',
    module: 'nodenext',
    noEmit: true,
    strict: true,
    skipLibCheck: true,
    erasableSyntaxOnly: true,
    allowImportingTsExtensions: true,
    ...(nodeTypes !== undefined && { typeRoots: [nodeTypes], types: ['node'] }),
    paths: { 'agent-core': [types] },
  }
  return `${JSON.stringify({ compilerOptions }, undefined, 2)}\n`
}
