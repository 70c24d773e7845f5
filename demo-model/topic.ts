const leadIns = [
  /^(?:please |can you |could you |would you )+/i,
  /^(?:and |so )?(?:what|how) about (?:the )?/i,
  /^what (?:does|do|did) (?:the |our |my )?[\w -]{1,40}? (?:say|state|tell(?: us)?|mention)(?: about| on| regarding)? /i,
  /^(?:according to|in) (?:the |our )?[\w-]+,? /i,
  /^(?:search|look|check|query)(?: up| through| in)? (?:the |our |my )?[\w-]+ (?:for|about|on) /i,
  /^(?:search|look)(?: up)? (?:for )?/i,
  /^(?:ask|tell|have|let) (?:the )?[\w-]+(?: \w+)? (?:to|about|whether|if|for) /i,
  /^(?:tell me|find(?: out)?(?: something| anything)?|show me|give me|explain(?: to me)?)(?: about| what| everything about)? /i,
]

/** Removes words that only address the tool from a request. */
export function toTopic(text: string): string {
  let topic = text.trim()
  for (const leadIn of leadIns) topic = topic.replace(leadIn, '')
  while (/[?!.\s]$/.test(topic)) topic = topic.slice(0, -1)
  return topic === '' ? text.trim() : topic
}
