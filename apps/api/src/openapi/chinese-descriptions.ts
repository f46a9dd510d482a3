/** Chinese descriptions of calls, by method and path. Change them with the English ones. */
export const chineseDescriptions: Readonly<Record<string, string>> = {
  'POST /token/id':
    '登录失败次数有限制：每个名称、每个用户 15 分钟内最多十次，每个地址也有上限。代用户登录的服务器应同时带上管理令牌，这样的调用没有按地址的限制。',
  'POST /token/login':
    '登录名可以是手机号、邮箱或用户名，按此顺序查找。登录失败次数有限制：每个名称、每个用户 15 分钟内最多十次，每个地址也有上限。代用户登录的服务器应同时带上管理令牌，这样的调用没有按地址的限制。',
  'POST /token/user':
    '登录失败次数有限制：每个名称、每个用户 15 分钟内最多十次，每个地址也有上限。代用户登录的服务器应同时带上管理令牌，这样的调用没有按地址的限制。',
  'POST /token/admin': '每个地址的登录失败次数有上限。',
  'POST /token/revoke':
    '2 秒内在所有进程生效。该用户各设备的推送令牌也会更换，重新登录即可得到新的令牌。不带请求头 user_id 的管理令牌会吊销其应用的全部管理令牌。',
  'POST /token/exchange':
    '接收应用自有登录系统签发的 JWT，并按 PUT /admin/identity 的设置校验：签名（RS256、ES256 或 EdDSA）、签发者、接收方、有效期。请先用 PUT /admin/identity 保存设置。用户由 `user_claim` 指定的字段中的用户名确定；未知用户会自动创建，没有密码。每个地址的登录失败次数有上限。',
  'GET /push/certificate':
    '管理员得到全部五个字段。用户得到的 app_secret 和 certificate 为 ""，除非厂商的 SDK 需要客户端密钥，此时 app_secret 即为该密钥。',
  'PUT /admin/push/certificate':
    '每个厂商、每个环境一条记录；分地区的厂商每个地区一条：`extra.region` 为 `cn`（默认）或 `intl`。保存会替换同一位置的记录，并重新启用因凭据被厂商拒绝而停用的通道。带 `check` 时先向厂商验证；厂商拒绝的内容不会保存，正在使用的记录保持不变。',
  'GET /admin/push/certificate/list':
    '包括状态、被厂商拒绝的部分、到期时间、回执地址和注意事项。密钥以掩码显示。',
  'POST /admin/push/certificate/check':
    '如果厂商接受，已停用的通道立即恢复，之前被拒绝的内容不再计算。如果厂商拒绝，问题会列在通道配置的注意事项中，直到验证成功或重新保存。验证不影响发送。',
  'POST /push/notify':
    '任务提交后返回。重复的 `setting.request_id` 返回第一个任务的 ID 和 `repeated`，不会再次推送。',
  'POST /push/notify/batch':
    '每一项都是 POST /push/notify 的请求体，各自成为一个任务。成功的项有 `task_id`；失败的项有 `code` 和 `message`，其余各项照常受理。请为每一项设置 `setting.request_id`：如果响应丢失，或某项返回 50001 或 50301，可以重新提交整个列表，不会重复推送。多个项使用相同的 request_id 时，以第一项为准。',
  'POST /push/task/detail': '按请求的顺序返回已知任务，不重复；未知的 ID 会被忽略。',
  'POST /push/task/list':
    '包括状态、进度、速率和预计剩余时间。使用 `title`、`actor`、`min_target` 或 `broadcasts` 时，即使 `next` 不为 null，一页的任务也可能少于 `limit`：每次调用最多比较 20,000 个任务。',
  'POST /push/task/channels':
    '在每个通道上，target = sent + failed + moved + expired + cancelled + pending。转到其他通道的设备会计入两个通道的 target，因此任务的设备数为各通道 target - moved 之和。',
  'POST /push/task/recall':
    '先终止任务中尚未发送的部分，再由一个新任务从已发送的设备上撤回消息；带 `replace` 时，则向这些设备发送替换键相同的消息。新任务与其他任务一样有计数：`target` 为第一个任务在能够处理的通道上已发送的设备数，其他通道的设备计入 `unreachable`；`sent` 为厂商接受了调用的设备数。设备不会改走其他通道。带 `dry_run` 时不做任何更改，只返回各通道能做什么。实时活动既不能撤回，也不能用来替换消息：请用 POST /push/notify 发送它的下一个事件。撤回可以重复，第二次会再做一遍；`request_id` 相同时不做任何事，返回第一次的任务。',
  'POST /push/task/failures':
    '失败在前，按设备数排序，其后是等待中的设备。结果 `failed`、`moved`、`expired`、`cancelled` 在所在通道上是最终结果；`waiting` 和 `held` 是调用时的状态。',
  'POST /push/task/device':
    'push_token、device_guid、alias、user_id 必须恰好填写一个；别名或用户最多可有 100 台设备。通道按尝试的顺序列出。不在任务接收范围内的设备路径为空；任务开始之后才换成当前用户或别名的设备也是如此，除非直接查询该设备。',
  'GET /push/task/export':
    'JSON 对象流，每行一个（`application/x-ndjson`）：每台设备、每个通道一行，数据取自同一时刻。最后一行只有 `sums`、`counters`、`equal` 和 `lines`；没有这一行说明数据流中断，内容不完整。第一行之前的错误以通常的格式返回。每个应用可同时读取两个导出；两分钟内没有读取的调用会被断开，任何数据流最长 15 分钟。',
  'POST /push/stats':
    '任务按开始时间计入所属时段，计数为调用时的值。汇总保留 400 天，比任务更久。时段从 `from` 开始，每段 24 小时或一小时：要按所在时区的日期统计，请从该时区的零点开始。按天最多 400 天，按小时最多 31 天。每个应用同时执行两次这样的调用，最多另有 50 次排队等待。',
  'POST /push/explain': '使用 notify 的请求体和一个推送令牌，受众可省略。不会发送任何内容。',
  'POST /push/audience/count':
    '使用 notify 的请求体，消息可省略（默认为纯文本）。每台设备计入此刻会使用的通道，判断方式与推送相同。100,000 台设备以内为精确值。不会发送任何内容。每个应用同时执行两次这样的调用，最多另有 50 次排队等待。',
  'POST /push/register':
    '应用未允许时拒绝（40301），见 PUT /admin/app/settings。device_guid 已存在时拒绝（40901），除非带上其当前的 push_token，或调用者就是其用户。达到应用的每日上限时返回 42901。',
  'POST /user/token/bind':
    '已绑定到其他设备的令牌会转到这台设备。`platform` 的默认值：provider 为 1 时是 ios，否则为设备已知的平台，再否则为 android。',
  'POST /user/activity':
    'ActivityKit 给出令牌时由应用调用：活动的令牌填写 `activity_id`，用于远程启动的令牌填写 `attributes_type`。同名的新令牌会替换旧令牌。每台设备最多 64 个，超出时移除最旧的。活动的令牌在活动结束、被厂商判定失效或 7 天后移除；用于远程启动的令牌 180 天后移除。推送使用设备 iOS 厂商令牌的环境和 Bundle ID，因此也必须绑定该令牌。',
  'DELETE /user/activity': '用于用户关闭的活动，或应用自行结束的活动。',
  'POST /user/activity/remove':
    '用于用户关闭的活动，或应用自行结束的活动。与 DELETE /user/activity 相同，供 DELETE 不能带请求体的客户端和代理使用。',
  'POST /user/push/tag': '每台设备最多 100 个标签，每个最多 64 个字符。要么全部添加，要么都不添加。',
  'POST /user/push/tag/remove': '与 DELETE /user/push/tag 相同，供 DELETE 不能带请求体的客户端和代理使用。',
  'POST /user/push/tag/all/remove':
    '与 DELETE /user/push/tag/all 相同，供 DELETE 不能带请求体的客户端和代理使用。',
  'POST /user/push/alias':
    '每台设备只有一个别名；任意多台设备可以共用一个别名。换成另一个别名视为换人：仍在等待该设备的消息不再投递。',
  'DELETE /user/push/alias': '填写 `alias` 时，仅当它是当前别名才清除。仍在等待该设备的消息不再投递。',
  'POST /user/push/alias/remove':
    '填写 `alias` 时，仅当它是当前别名才清除。仍在等待该设备的消息不再投递。与 DELETE /user/push/alias 相同，供 DELETE 不能带请求体的客户端和代理使用。',
  'POST /user/push/badge': '应用在打开时调用，使 `+1` 在用户看到的数字上累加。',
  'POST /push/receipt':
    '每个任务、每台设备只计一次，且仅限任务的接收设备。`clicked` 同时表示 `received`。每个 API 进程每秒最多接收一台设备的 500 条，一次突发最多 5,000 条（42901）；使用管理令牌时没有这一限制。',
  'PUT /admin/device':
    '未填写的字段保持不变；null 或空值会清除该字段（`bindings` 仅限 null）。绑定总是整体替换：`environment`、`bundle_id` 和 `region` 每次都要填写。已绑定到其他设备的厂商令牌会转到这台设备。返回应用自身调用和自有通道所需的推送令牌。用户登录时将 `alias` 设为你的用户 ID，退出时设为 null。',
  'POST /admin/device/batch':
    '每一项都是 PUT /admin/device 的请求体。未填写的字段保持不变；null 或空值会清除该字段（`bindings` 仅限 null）。绑定总是整体替换：`environment`、`bundle_id` 和 `region` 每次都要填写。已绑定到其他设备的厂商令牌会转到这台设备。各项按顺序执行。成功的项有 `push_token` 和 `created`；失败的项有 `code` 和 `message`，其余各项照常保存。',
  'POST /admin/device/import':
    '每行一个 JSON 对象，最多 64 KiB，字段同 PUT /admin/device：未填写的字段保持不变，null 或空值会清除（`bindings` 仅限 null），`add_tags` 和 `remove_tags` 增减单个标签。绑定总是整体替换：`environment`、`bundle_id` 和 `region` 每次都要填写。无效的行会跳过并计入 `failed`；`errors` 列出前 100 行。同一设备的各行按顺序执行。导入可以放心重复；但别名和厂商令牌会按文件设置，即使之后已经改变。每个应用在每个 API 进程中可同时进行四个导入，超出时拒绝（42901）。',
  'POST /admin/device/list': '多个条件同时满足。按 device_id 升序排列。',
  'POST /admin/device/messages':
    'push_token、device_guid、alias、user_id 必须恰好填写一个；别名或用户最多可有 100 台设备。每个任务、每台设备一条，显示决定结果的通道：发送了消息的通道，否则为最后一个；其他通道见 task/device。按别名或用户查询时，不包括设备在拥有该别名或用户之前收到的消息。可查范围与任务的保留时间相同。一页可能少于 `limit`，甚至为空：只有 `next: null` 表示结束。',
  'POST /admin/tag/member':
    '别名或用户代表其全部设备。先执行 `add`，再执行 `remove`。如果某台设备会超过 100 个标签则拒绝（40002）。超过 5,000 台设备时分多次提交，拒绝之前已提交的部分会保留。',
  'POST /admin/tag/list': '按名称排序。没有设备的标签不列出。',
  'POST /admin/device/remove':
    '按 device_guid 或 push_token 删除，无论设备是否属于用户。其连接在 3 秒内断开（4401）。要清除与某人相关的全部数据，请使用 POST /admin/erase。',
  'POST /admin/device/token':
    '旧的推送令牌立即失效，使用它的连接在 3 秒内断开（4401）。响应中有新令牌，之后也可用 PUT /admin/device 取得；自行登录的应用在下次用该 device_guid 登录时得到。',
  'POST /admin/erase':
    'user_id、alias、device_guid 必须恰好填写一个。删除其设备及绑定、已失效令牌、标签、角标、收件箱和回执，从受众、失败记录和操作记录中清除其标识；使用 user_id 时还会删除该用户。这些设备上进行中的推送以过期结束。只涉及此人的任务会清除内容，尚未开始的会被终止。可以放心重复：对未知的人返回 0。备份和日志中的残留见 docs/operations.md。',
  'POST /admin/user': '管理员代表群组调用时，创建的用户属于该群组。',
  'POST /admin/user/password': '吊销该用户的令牌，并更换其设备的推送令牌；重新登录即可得到新的令牌。',
  'POST /admin/group/member/add': '不存在的用户和已是成员的用户会被忽略。',
  'POST /admin/group/remove': '其成员仍然是用户。',
  'POST /admin/user/remove':
    '吊销该用户的令牌。设备保留，推送令牌更换，并清除所属用户、别名、标签、角标和收件箱。',
  'PUT /admin/app/settings':
    '未填写的字段保持不变；null 表示使用默认值。默认值依次为 combined、86400、false、10000 和各厂商自己的上限。其他进程在一秒内使用新值。',
  'POST /admin/audit/list':
    '记录与其描述的更改一起提交；读取密钥的记录在响应之前提交。推送记为 `push.notify`，保留时间与任务相同；其他记录保留一年或更久。内容相同的登录失败每分钟合并为一条，带 `count`；每分钟超过 100 条时，其余合并计数。一页可能少于 `limit`，甚至为空：只有 `next: null` 表示结束。',
  'PUT /admin/identity':
    '替换 POST /token/exchange 的设置。`jwks_url` 和 `public_key` 必须填写其一。这些设置决定用户是谁：令牌中的名称即以该用户名登录，即使该用户设有密码。`jwks_url` 的密钥现在读取一次；令牌的 kid 未知时（最多每 30 秒一次）以及超过一小时后会重新读取；地址没有响应时继续使用上次的密钥。',
  'GET /admin/identity': '没有设置时（默认），`issuer` 为 null。',
  'POST /admin/identity/remove': '用户及其令牌保留；POST /token/exchange 从此失败，一秒内在所有进程生效。',
  'POST /admin/app': '密钥只返回这一次。',
  'PUT /admin/app': '未填写的字段保持不变。app_id 永不改变。',
  'POST /admin/app/secret':
    '该应用的全部管理令牌和控制台会话在两秒内失效；用户令牌和推送令牌仍然有效。旧密钥立即失效，或在 `keep_old_seconds` 之后失效，以便服务器不中断地更换；再次更换会使其立即失效。新密钥只返回这一次。',
  'POST /admin/app/audit':
    '运维人员的登录、错误的运维密钥，以及对不存在的应用的登录。一页可能少于 `limit`，甚至为空：只有 `next: null` 表示结束。',
  'PUT /admin/webhook':
    '没有 `webhook_id` 时，修改同名的 Webhook，没有则新增；每个应用最多 20 个。新的 Webhook 从此刻起接收事件。保存后，已停止（状态 `rested`）的 Webhook 恢复发送。只有设置了 `setting.events` 的任务，以及属于某个 Webhook 所填活动的任务，才会发送设备事件。',
  'POST /admin/webhook/test':
    '发送一条类型为 `webhook.test` 的事件，签名方式与其他事件相同，并返回对方的响应。成功后，已停止（状态 `rested`）或正在等待重试的 Webhook 会恢复。',
  'POST /admin/webhook/replay':
    '事件的 ID 与之前相同，请求的 ID 不同。已停止（状态 `rested`）的 Webhook 恢复发送。填写将来或当前的时间可跳过积压的事件。事件的保留时间与任务相同。',
  'POST /admin/webhook/remove': '尚未送达的事件不再发送；事件仍保留在事件流中。',
  'POST /admin/event/list':
    '与 Webhook 收到的事件相同，供无法被调用的服务器使用，顺序和 ID 也相同。没有 `after` 时从保留的最早事件开始。之后以 `after` = `next` 继续调用；列表为空表示没有新事件。从首次调用起到最后一次调用后 30 天，新任务即使没有 Webhook 也有 `task.finished` 和 `task.cancelled`。条目的其他字段取决于类型，见 docs/events.md。',
}

/** Who may make a call, by its `access`; `group`: refused for an admin acting for a group. */
export const chineseAccess = {
  public: '不需要 access-token。',
  user: '需要用户令牌，或带请求头 user_id 的管理令牌。',
  holder: 'access-token 可省略；如果提供，则必须有效。',
  anyone: '需要用户令牌或管理令牌。',
  admin: '需要管理令牌。',
  owner: '需要管理令牌，或以 `authorization: Bearer …` 发送的运维密钥。',
  operator: '需要运维密钥，以 `authorization: Bearer …` 发送；不需要 app_id。',
  group: '管理员代表群组调用时拒绝（40301）。',
}
