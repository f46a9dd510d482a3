/** What holds for every call, in Markdown; the document and both pages begin with it. */
export const introduction: readonly string[] = [
  'Every answer is an envelope `{"code": …, "data": …, "message": …}`: code 200 and message null on success, otherwise a code of the table and one sentence. The first three digits of a code are the HTTP status.',
  'Every call but the operator’s carries the header `app_id`; most carry `access-token`. With an admin token the header `user_id` makes the call as that user and `group_id` as an admin of that group; with a user token `user_id` may only be its own. Header names carry underscores: a proxy in front must let them pass (nginx: `underscores_in_headers on`).',
  'Blank means absent, null, `""`, only white space, `[]` or `{}`, and selects the default. int64 is exact in both directions: a JSON number, on input also a decimal string. A field that an object does not have is refused.',
]
