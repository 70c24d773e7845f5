/** One step of a chat. */
export interface Step {
  title: string
  /** What happens in the step. */
  text: string
  /** Globs of paths below `src/`. The longest glob that matches a file decides to which step the file belongs. */
  globs: readonly string[]
}

/** The steps of a plain chat, in the order in which a request passes them. */
export const steps: readonly Step[] = [
  {
    title: 'Receive',
    text: 'The server gives the request an id and a logger, and reads the body within its limits.',
    globs: ['http/**', 'concurrency/**', 'json/**'],
  },
  {
    title: 'Authenticate',
    text: "The route's declared permission and the key become a `Principal`; otherwise 401, 403 or 429.",
    globs: ['access/**', 'http/server/authenticate.ts', 'service/access.ts'],
  },
  {
    title: 'Route',
    text: 'The body is validated by its schema and becomes one call: `runs.open`. No other code opens a run for a reader than `http/reader.ts`.',
    globs: ['http/doors/**', 'http/reader.ts', 'http/server/validation.ts'],
  },
  {
    title: 'Admit',
    text: 'A known request id is joined, continued or replayed; an overloaded process refuses.',
    globs: ['runs/*.ts', 'runs/intake/**', 'metrics/load.ts', 'configuration/**'],
  },
  {
    title: 'Begin',
    text:
      'One transaction claims the session and stores the message and the run. If the session is busy, the run waits in the session queue. On ' +
      'SQLite, steps 6 to 8 begin while the commit is on its way to the disk, and no event passes step 9 before.',
    globs: ['runs/ownership/**', 'store/**'],
  },
  {
    title: 'Prepare',
    text: "The session's window, summary, files and memories become the transcript; tools are selected.",
    globs: [
      'runs/execution/prepare.ts',
      'runs/window/**',
      'runs/attachments/**',
      'sessions/**',
      'files/**',
      'memory/**',
      'service/**',
      'sub-agents/**',
      'tools/**',
    ],
  },
  {
    title: 'Loop',
    text: 'The agent asks the model, runs the requested tools, and repeats until the model answers in text.',
    globs: ['agent/**', 'runs/execution/**'],
  },
  {
    title: 'Ask the model',
    text: 'The request is sent, the stream parsed; failures are retried or passed to a fallback.',
    globs: ['models/**', 'outbound/**'],
  },
  {
    title: 'Log',
    text: 'Each event gets its number and reaches every reader.',
    globs: ['runs/log/**', 'runs/trace/**', 'metrics/**', 'tracing/**'],
  },
  {
    title: 'End',
    text: 'One transaction stores the answer, the run, the metrics, and the next run in the session queue; then the `end` event is published.',
    globs: ['runs/execution/{finish,citations}.ts', 'runs/callbacks/**', 'runs/notifications/**', 'store/queue/**'],
  },
  { title: 'Answer', text: 'The log becomes the JSON answer.', globs: ['runs/log/outcome.ts', 'http/reader.ts'] },
]
