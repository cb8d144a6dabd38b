export default {
  lead: 'Jedes Gerät hat eigene Schlüssel. Widerrufen Sie ein Gerät, das Sie verloren oder weggegeben haben.',
  list: 'Ihre Geräte',
  thisOne: 'Dieses Gerät',
  waits: 'Wartet auf Bestätigung',
  signedIn: 'Angemeldet',
  signedOut: 'Abgemeldet',
  active: 'In Benutzung',
  platform_linux: 'Linux',
  platform_macos: 'macOS',
  platform_windows: 'Windows',
  platform_other: 'Anderes System',
  added: 'Hinzugefügt {when}',
  asked: 'Angefragt {when}',
  seen: 'Zuletzt gesehen {when}',
  session: 'Sitzung seit {when}',

  approve: 'Bestätigen …',
  decline: 'Ablehnen',
  declineTitle: 'Gerät ablehnen',
  declineText:
    'Das Gerät wird abgemeldet und bekommt nichts. Wenn es Ihres ist, können Sie sich darauf wieder anmelden.',
  declined: 'Sie haben {name} abgelehnt.',
  endSession: 'Sitzung beenden',
  endSessionText:
    'Das Gerät wird sofort abgemeldet, zum Beispiel wenn Sie es offen stehen ließen. Es behält seine Schlüssel und kann sich mit einem Code aus Ihrer Mail wieder anmelden. Wenn Sie das Gerät verloren haben, widerrufen Sie es.',
  sessionEnded: 'Sie haben die Sitzung von {name} beendet.',
  revoke: 'Widerrufen',
  revokeTitle: 'Gerät widerrufen',
  revokeText:
    'Die Schlüssel und die Sitzung dieses Geräts enden für immer. Alle Ihre Verbindungen bekommen neue Geheimnisse, deshalb lassen sich ihre Wörter vielleicht einige Minuten nicht prüfen. Um das Gerät wieder zu benutzen, melden Sie sich darauf als neues Gerät an.',
  revokeRecovery:
    'Wenn Sie es verloren haben und es Ihren Wiederherstellungsschlüssel erstellt hat, gilt dieser Schlüssel weiter. Ein Hinweis zeigt dann, was zu tun ist.',
  revoked: 'Sie haben {name} widerrufen.',
  signOut: 'Um dieses Gerät abzumelden:',

  waitingHere: 'Dieses Gerät wartet auf Bestätigung',
  waitingHereText:
    'Es darf nur lesen, bis ein anderes Gerät Ihres Kontos es bestätigt. Führen Sie den ersten Befehl hier aus und den zweiten auf dem anderen Gerät, oder öffnen Sie dort „Geräte“:',

  add: 'Gerät hinzufügen',
  addText:
    'Sie brauchen beide Geräte vor sich, denn Sie tippen Wörter von jedem Bildschirm auf dem anderen Gerät ein.',
  addInstall: 'Installieren Sie Countersign auf dem neuen Gerät.',
  addLogin: 'Melden Sie sich dort mit diesen Befehlen an:',
  addLoopback: 'Diese Adresse funktioniert nur auf diesem Computer.',
  addApprove:
    'Das Gerät erscheint hier und wartet. Wählen Sie „Bestätigen“ und tippen Sie die Wörter jeweils auf dem anderen Gerät ein.',
  addEmbedded:
    'Dieses Konto ist nur auf diesem Computer und bleibt hier, deshalb hat es ein Gerät. Für mehrere Geräte braucht es ein Konto auf einem Kontoserver. Damit es eine Kopie von diesem gibt, machen Sie eine Sicherung:',

  renew: 'Schlüssel dieses Geräts erneuern',
  renewText:
    'Ein Gerät erneuert alle 90 Tage den Schlüssel, für den Geheimnisse verschlüsselt werden. Wenn eine Person seinen Schlüsselbund oder eine Kopie davon gelesen haben kann, erneuern Sie den Schlüssel jetzt auf diesem Gerät:',

  approveTitle: 'Gerät bestätigen',
  back: 'Alle Geräte',
  approveLead: 'Tippen Sie die vier Wörter jedes Bildschirms auf dem anderen Gerät ein.',
  warning:
    'Mit der Bestätigung bekommt das neue Gerät vollen Zugriff auf Ihr Konto. Der Bildschirm des neuen Geräts muss vor Ihnen stehen. Tippen Sie niemals Wörter ein, die Ihnen eine andere Person diktiert.',
  isNew: 'neu',
  begin: 'Beginnen',
  beginText:
    'Führen Sie auf dem neuen Gerät diesen Befehl aus, wenn er dort nicht schon läuft. Beginnen Sie dann hier. Sie haben 15 Minuten Zeit und fünf Versuche in 24 Stunden:',
  waiting: 'Es fehlt noch {name}. Führen Sie dort diesen Befehl aus:',
  answered:
    '{name} zeigt noch die Wörter eines früheren Versuchs. Drücken Sie dort die Eingabetaste, oder führen Sie dort diesen Befehl noch einmal aus:',
  revealing: 'Gleich zeigt {name} seine Wörter …',
  theirWords: 'Vier Wörter, die {name} zeigt',
  compare: 'Wörter vergleichen',
  otherWords:
    'Das sind nicht die Wörter, die das neue Gerät jetzt zeigt. Es wurde nichts bestätigt. Tippen Sie die Wörter dieses Versuchs ein. Wenn sie noch einmal abgelehnt werden, bestätigen Sie das Gerät nicht: Der Kontoserver bietet ein anderes Gerät an als Ihres.',
  startedAgain:
    'Das neue Gerät hat von vorn begonnen, oder ein anderes Gerät hat ihm geantwortet. Beginnen Sie hier noch einmal.',
  noAttempt: 'Dieser Versuch ist zu Ende. Beginnen Sie hier noch einmal.',
  typeThere: 'Tippen Sie jetzt diese vier Wörter ein auf {name}',
  stepCompared: 'Die Wörter von {name} sind richtig',
  stepTyped: 'Die Wörter dieses Geräts sind eingetippt auf {name}',
  stepSealed: 'Die Geheimnisse aller Verbindungen sind verschlüsselt für {name}',
  stepsLeft: {
    one: 'Eine Verbindung fehlt noch. Vielleicht müssen andere Mitglieder ihr Geheimnis verschlüsseln.',
    other:
      '{count} Verbindungen fehlen noch. Vielleicht müssen andere Mitglieder ihre Geheimnisse verschlüsseln.',
  },
  stepDone: 'Erledigt:',
  stepOpen: 'Fehlt noch:',
  progress: 'Fortschritt',
  ready: '{name} ist bereit. Seine Wörter können benutzt werden, sobald es abgeglichen hat.',
  isActive: '{name} ist schon bestätigt.',
  gone: 'Dieses Gerät gehört nicht mehr zu Ihrem Konto: Es wurde abgelehnt oder widerrufen, oder auf ihm wurden andere Wörter eingetippt. Um es hinzuzufügen, melden Sie sich darauf noch einmal an.',
} as const
