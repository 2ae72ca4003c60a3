import com.outlyer.jmx.jmxquery.JMXConnector;
import com.outlyer.jmx.jmxquery.JMXMetric;
import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.StringJoiner;

/**
 * jmxquery, kept running. Told once, on standard input, whom to ask and for what; from then on every line in is a question,
 * and every line out its answer: JSON, or "!" and why there is none. Nothing it is told is ever on a command line.
 */
public class KeptRunning {
    private final String url, username, password;
    private final String[] queries;
    private JMXConnector connector;

    private KeptRunning(BufferedReader in) throws Exception {
        url = in.readLine();
        username = in.readLine();
        password = in.readLine();
        String truststore = in.readLine(), lock = in.readLine();
        if (!truststore.isEmpty()) {
            System.setProperty("javax.net.ssl.trustStore", truststore);
            System.setProperty("javax.net.ssl.trustStorePassword", lock);
            System.setProperty("javax.net.ssl.trustStoreType", "PKCS12");
        }
        queries = in.readLine().split(";");
    }

    public static void main(String[] none) throws Exception {
        PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.out), false, StandardCharsets.UTF_8);
        System.setOut(System.err); // what a library prints is no answer
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        KeptRunning asking = new KeptRunning(in);
        while (in.readLine() != null) {
            out.println(asking.answer());
            out.flush();
        }
    }

    private String answer() {
        boolean kept = connector != null;
        try {
            return values();
        } catch (Throwable trouble) {
            forget();
            if (kept) {
                return answer(); // the node may have been restarted since: once more, on a connection of today
            }
            StringWriter words = new StringWriter();
            trouble.printStackTrace(new PrintWriter(words));
            return "!" + words.toString().replaceAll("\\s+", " ");
        }
    }

    private String values() throws Exception {
        if (connector == null) {
            boolean known = !username.isEmpty();
            connector = new JMXConnector(url, known ? username : null, known ? password : null);
        }
        ArrayList<JMXMetric> asked = new ArrayList<>();
        for (String query : queries) {
            asked.add(new JMXMetric(query));
        }
        StringJoiner found = new StringJoiner(",", "[", "]");
        for (JMXMetric metric : connector.getMetrics(asked)) {
            found.add(metric.toJSON().replace("\n", " "));
        }
        return found.toString();
    }

    private void forget() {
        try {
            if (connector != null) {
                connector.disconnect();
            }
        } catch (Exception gone) {
            // so it is closed already
        }
        connector = null;
    }
}
