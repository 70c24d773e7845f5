import { defineTool } from 'agent-core'

// A tool of your own. Save this file while the service runs: the next chat uses the saved version.
export default defineTool({
  // The model decides by this text alone when to use the tool.
  description: 'Counts the working days (Monday to Friday) from one date to another, including both. Public holidays are not considered.',
  // JSON Schema of the input. Input that does not match never reaches execute.
  schema: {
    type: 'object',
    properties: {
      from: { type: 'string', pattern: '^\\d{4}-\\d{2}-\\d{2}$', description: 'The first day, such as 2026-01-31.' },
      to: { type: 'string', pattern: '^\\d{4}-\\d{2}-\\d{2}$', description: 'The last day, such as 2026-02-13.' },
    },
    required: ['from', 'to'],
    additionalProperties: false,
  },
  // 'read': the tool changes nothing, so a call may be repeated after a crash. 'write': a call is executed at most once.
  effect: 'read',
  // Returns any JSON value. The message of a thrown error goes to the model, which may try again with another input.
  async execute({ from, to }, { log }) {
    const last = Date.parse(to)
    const days = Math.round((last - Date.parse(from)) / 86_400_000) + 1
    if (Number.isNaN(days)) throw new Error('One of the dates does not exist.')
    if (days < 1) throw new Error('The first day must not be after the last day.')
    // Whole weeks have five working days each; the days after them are counted one by one.
    const rest = Array.from({ length: days % 7 }, (_, index) => new Date(last - index * 86_400_000).getUTCDay())
    log(`${days} days`)
    return { from, to, working_days: Math.floor(days / 7) * 5 + rest.filter((day) => day !== 0 && day !== 6).length }
  },
})
