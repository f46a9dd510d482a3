/** https://open.oppomobile.com/new/developmentDoc/info?id=11236, without app_message_id. */
export type OppoNotification = {
  style: 1 | 2 | 3
  title: string
  content: string
  big_picture_url?: string
  click_action_type: 0 | 2 | 4 | 5
  click_action_activity?: string
  click_action_url?: string
  action_parameters?: string
  off_line: boolean
  off_line_ttl?: number
  notify_id: number
  channel_id?: string
  category?: string
  notify_level?: number
  private_msg_template_id?: string
  private_title_parameters?: unknown
  private_content_parameters?: unknown
  badge_operation_type?: 0 | 1
  badge_message_count?: number
  call_back_url?: string
  call_back_parameter?: string
}
