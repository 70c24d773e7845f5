/** Size limits of a sub-agent, in characters. Name and description stand in every prompt of the caller. */
export const subAgentLimits = {
  name: 64,
  /**
   * No space at either end, no control characters. Without look-around, which some clients' regular expressions lack.
   */
  namePattern: '^[^\\s\\u0000-\\u001f\\u007f]([^\\u0000-\\u001f\\u007f]*[^\\s\\u0000-\\u001f\\u007f])?$',
  description: 2000,
  objective: 20_000,
  tools: 100,
  /** Length of a tool's name. */
  toolName: 256,
  task: 200_000,
} as const
