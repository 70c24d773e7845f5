/** Source written by `agent-core tool new`: a working tool as a starting point. */
export const toolTemplate = `import { defineTool } from 'agent-core'

// A tool of the agent. Save this file while the service runs: the next chat uses the saved version.
// "agent-core tool check" shows errors of this file and calls the tool, without a running service.
export default defineTool({
  // The description for the model, which decides by this text alone when to use the tool.
  description: 'Repeats a text. Say here what the tool does and when to use it.',
  // JSON Schema of the input. Input that does not match never reaches execute.
  schema: {
    type: 'object',
    properties: {
      text: { type: 'string', minLength: 1, description: 'What to repeat.' },
    },
    required: ['text'],
    additionalProperties: false,
  },
  // 'read': may be called again after a crash, and in parallel with other calls. 'write': changes something, so a call is executed at most once.
  effect: 'read',
  // Returns any JSON value. The message of a thrown error goes to the model, which may try again with another input.
  // The context has signal, headers, filters, log, artifact, callId and session.
  async execute({ text }, { log }) {
    log('A log line of ' + text.length + ' characters of input.')
    return { text }
  },
})
`

/** Example input of the template's tool. */
export const templateInput = { text: 'hello' }

/**
 * The tsconfig.json for editors: paths of the types of this package (and of Node, if installed), and compiler options that match Node's type
 * stripping. Paths are relative to the folder of the file, so that the file can be committed.
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
