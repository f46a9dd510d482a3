/** Applies to every call; in Markdown. The OpenAPI document and both pages start with it. */
export const introduction: readonly string[] = [
  'Every response has the form `{"code": …, "data": …, "message": …}`. On success, code is 200 and message is null. On failure, data is null, code is one of the codes below, and message is one sentence. The first three digits of a code are the HTTP status.',
  'All calls except the operator’s require the header `app_id`; most require `access-token`. With an admin token, the header `user_id` makes the call act as that user, and `group_id` as an admin of that group. With a user token, `user_id` may only be the user’s own id. Header names contain underscores; a proxy must pass them on (nginx: `underscores_in_headers on`).',
  'Blank means absent, null, `""`, only white space, `[]` or `{}`, and selects the default. int64 values are exact: JSON numbers in responses, JSON numbers or decimal strings in requests. Unknown fields are refused.',
]
