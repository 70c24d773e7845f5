/** The fields of a request on chat completions that the service sets itself. A configuration cannot set them by `extra_body`. */
export const ownFields: readonly string[] = [
  ...['model', 'messages', 'tools', 'tool_choice', 'parallel_tool_calls', 'stream', 'stream_options', 'n', 'temperature', 'top_p'],
  ...['presence_penalty', 'frequency_penalty', 'stop', 'seed', 'random_seed', 'max_tokens', 'max_completion_tokens'],
  ...['reasoning_effort', 'response_format'],
]
