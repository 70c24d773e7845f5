/** How large what describes a sub-agent may be, in characters: its name and description stand in every prompt of its caller. */
export const subAgentLimits = {
  name: 64,
  /** No space at its ends, no control characters. Without look-around, which not every client's engine has. */
  namePattern: '^[^\\s\\u0000-\\u001f\\u007f]([^\\u0000-\\u001f\\u007f]*[^\\s\\u0000-\\u001f\\u007f])?$',
  description: 2000,
  objective: 20_000,
  tools: 100,
  /** Of one of its tools' names. */
  toolName: 256,
  task: 200_000,
} as const
